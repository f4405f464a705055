package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/fleet"
	"github.com/a1009580/leasehold/chaos/drill/result"
)

// mostEvents bounds what processes say in a result. The tails of their logs are
// kept apart.
const mostEvents = 400

// diary is what happened, in the order in which it was heard.
type diary struct {
	mu     sync.Mutex
	start  time.Time
	events []result.Event
	said   int // by processes
}

func (d *diary) begin(at time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.start = at
}

// add notes an event. What happened before the load began is at 0 s or before,
// and not noted.
func (d *diary) add(at time.Time, e result.Event) (result.Event, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.start.IsZero() || at.Before(d.start) {
		return e, false
	}
	if e.Kind == result.EventSystem {
		if d.said++; d.said > mostEvents {
			return e, false
		}
	}
	e.AtSeconds = at.Sub(d.start).Seconds()
	d.events = append(d.events, e)
	return e, true
}

// all are the events by time.
func (d *diary) all() []result.Event {
	d.mu.Lock()
	defer d.mu.Unlock()
	events := append([]result.Event{}, d.events...)
	slices.SortStableFunc(events, func(a, b result.Event) int {
		switch {
		case a.AtSeconds < b.AtSeconds:
			return -1
		case a.AtSeconds > b.AtSeconds:
			return 1
		}
		return 0
	})
	return events
}

// event notes something that the drill did.
func (r *run) event(source string, kind result.EventKind, text string) {
	if e, ok := r.diary.add(time.Now(), result.Event{Source: source, Kind: kind, Text: text}); ok && r.Progress != nil {
		r.Progress(e)
	}
}

// listen takes what processes say, until done.
func (r *run) listen(done <-chan struct{}) {
	for {
		select {
		case <-done:
			return
		case s := <-r.fleet.Said():
			if text := telling(r.fleet.Named(s.Node).Kind, s.Line); text != "" {
				if e, ok := r.diary.add(s.At, result.Event{Source: s.Node, Kind: result.EventSystem, Text: text}); ok && r.Progress != nil {
					r.Progress(e)
				}
			}
		}
	}
}

// telling is what a line of a log says to people, and empty for what is not worth
// an event: of etcd all but errors. What is no line of a log, such as the end of a
// process that panics, is told as it is.
func telling(kind result.Kind, line string) string {
	var fields map[string]any
	if err := json.Unmarshal([]byte(line), &fields); err != nil {
		return line
	}
	level, _ := fields["level"].(string)
	if kind == result.Etcd && level != "ERROR" {
		return ""
	}
	text, _ := fields["msg"].(string)
	if level != "INFO" {
		text = level + " " + text
	}
	var rest []string
	for _, name := range []string{"error", "reason", "epoch", "session", "coordinator", "policy", "revision"} {
		if v, ok := fields[name]; ok {
			rest = append(rest, fmt.Sprintf("%s=%v", name, v))
		}
	}
	return strings.TrimSpace(text + " " + strings.Join(rest, " "))
}

// lastWords are the ends of all logs, for an error.
func (r *run) lastWords() string {
	var b strings.Builder
	for _, p := range r.fleet.All() {
		for _, line := range lastLines(p, 3) {
			fmt.Fprintf(&b, "\n  %s: %s", p.Name, line)
		}
	}
	return b.String()
}

func lastLines(p *fleet.Process, n int) []string {
	tail := p.Tail()
	return tail[max(0, len(tail)-n):]
}
