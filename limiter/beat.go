package limiter

import (
	"context"
	"time"

	"github.com/a1009580/leasehold/internal/wire"
	"github.com/a1009580/leasehold/partition"
)

const (
	// firstInterval is between reports until a coordinator says otherwise.
	firstInterval = 100 * time.Millisecond
	// hurried is the least time between two messages, however urgent.
	hurried = 10 * time.Millisecond
)

// wantBeat has the next report made before its time. The holder calls it while
// it decides, so it must not block.
func (l *Limiter) wantBeat() {
	select {
	case l.hurry <- struct{}{}:
	default:
	}
}

// beat is the actor that reports: every interval, and sooner when a decision
// asked for it.
func (l *Limiter) beat(ctx context.Context) {
	timer := l.clock.NewTimer(firstInterval)
	defer timer.Stop()
	last := l.now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.hurry:
			if wait := last + hurried - l.now(); wait > 0 {
				timer.Reset(l.clock.Real(wait))
				continue
			}
		case <-timer.C:
		}
		last = l.now()
		timer.Reset(l.clock.Real(l.report()))
	}
}

// report makes the holder's next report and sends it on the open session. It
// returns the time until the next regular one.
func (l *Limiter) report() time.Duration {
	l.speaking.Lock()
	defer l.speaking.Unlock()
	l.mu.Lock()
	now := l.now()
	l.notice(now, func(*partition.Link) {})
	batch, ok := l.holder.Tick(now)
	interval := l.state.interval
	l.mu.Unlock()
	if !ok || l.out == nil {
		return interval
	}
	for _, part := range wire.SplitReports(batch) {
		if !l.out.report(part) {
			break // the reader of the stream learns why
		}
	}
	return interval
}
