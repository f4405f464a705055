package demo

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// sparing is a log that does not say the same over and over: a demo's figures
// must stay readable when something goes wrong many times a second.
type sparing struct {
	slog.Handler
	said *said
}

const (
	// sparingTime is how long a message is remembered, sparingCount how often it
	// is passed on in that time.
	sparingTime  = 10 * time.Second
	sparingCount = 3
)

// said is what was said since a moment.
type said struct {
	mu    sync.Mutex
	since time.Time
	times map[string]int
}

// more counts a message and says how often it came in this stretch of time.
func (s *said) more(message string, now time.Time) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == nil || now.Sub(s.since) > sparingTime {
		s.since, s.times = now, map[string]int{}
	}
	s.times[message]++
	return s.times[message]
}

// Handle implements slog.Handler.
func (h sparing) Handle(ctx context.Context, r slog.Record) error {
	n := h.said.more(r.Message, r.Time)
	if n > sparingCount {
		return nil
	}
	if n == sparingCount {
		r = r.Clone()
		r.AddAttrs(slog.Duration("not_repeated_for", sparingTime))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h sparing) WithAttrs(a []slog.Attr) slog.Handler {
	return sparing{h.Handler.WithAttrs(a), h.said}
}

// WithGroup implements slog.Handler.
func (h sparing) WithGroup(name string) slog.Handler {
	return sparing{h.Handler.WithGroup(name), h.said}
}
