package explore

import (
	"fmt"
	"strings"
	"time"
)

// Story tells a path in words: what happened, and what everybody had then.
func Story(scene *Scene, path []Action) string {
	var b strings.Builder
	w := scene.begin()
	for n, a := range scene.Prologue {
		fmt.Fprintf(&b, "%4s  %s\n", fmt.Sprintf("(%d)", n+1), scene.words(w, a))
		w = w.After(a)
	}
	w.left = scene.Budget
	for n, a := range path {
		fmt.Fprintf(&b, "%4d  %s\n", n+1, scene.words(w, a))
		w = w.After(a)
		fmt.Fprintf(&b, "      %s\n", w.summary())
	}
	return b.String()
}

// words names an action that happens in w.
func (s *Scene) words(w *World, a Action) string {
	switch a.Kind {
	case Take:
		return fmt.Sprintf("%s is asked for %d", s.Holders[a.Who], a.Arg)
	case Report:
		return s.Holders[a.Who] + " ticks"
	case Up, UpAgain, UpLost:
		return told(w, a, "the ledger gets", a.Kind-Up)
	case Down, DownAgain, DownLost:
		return told(w, a, "the holder gets", a.Kind-Down)
	case Tick:
		return fmt.Sprintf("leader %d ticks", a.Who)
	case Scan:
		return fmt.Sprintf("leader %d reads all records", a.Who)
	case Land, Refuse, LandMute, LoseMute:
		return fmt.Sprintf("transaction %d %s", a.Arg, [...]string{
			"is written", "is refused", "is written, the answer is lost", "is lost with its answer",
		}[a.Kind-Land])
	case Connect:
		return fmt.Sprintf("%s connects to leader %d", s.Holders[a.Who], a.Arg)
	case Crash:
		return s.Holders[a.Who] + " crashes and begins again"
	case Leave:
		return s.Holders[a.Who] + " says goodbye"
	case Succeed:
		return "the leader crashes, another leads"
	case Usurp:
		return "another leads, the old leader lives on"
	case Before:
		return "time goes on to just before the next deadline"
	case Past:
		return "time goes on to the next deadline"
	default:
		return fmt.Sprintf("time goes on by %v", s.Quantum)
	}
}

// told names a message that is delivered, delivered and kept, or lost.
func told(w *World, a Action, got string, how Kind) string {
	list := w.up
	if a.Kind >= Down {
		list = w.down
	}
	what := w.describe(list[a.Arg])
	switch how {
	case 0:
		return got + " " + what
	case 1:
		return got + " " + what + ", which stays in flight"
	default:
		return what + " is lost"
	}
}

// describe tells a message.
func (w *World) describe(m *message) string {
	who := fmt.Sprintf("%s (leader %d)", w.scene.Holders[m.holder], m.leader)
	switch {
	case m.hello != nil:
		return fmt.Sprintf("the Hello of %s with claims %+v", who, m.hello.Claims)
	case m.report != nil:
		return fmt.Sprintf("the report of %s: %+v", who, m.report.Reports)
	default:
		return fmt.Sprintf("for %s grants %+v, recalls %+v, floors %+v", who, m.grants.Grants, m.grants.Recalls, m.grants.Floors)
	}
}

// summary tells what everybody has.
func (w *World) summary() string {
	var parts []string
	parts = append(parts, fmt.Sprintf("at %v", w.now))
	for i, p := range w.holders {
		cell, ok := p.h.Lookup(w.scene.Terms.Quota, []byte("k"))
		if !ok {
			continue
		}
		v := cell.View()
		left := v.Deadline - w.holderClock(int8(i))
		parts = append(parts, fmt.Sprintf("%s has %d for %v", w.scene.Holders[i], v.Unspent, max(0, left).Round(time.Millisecond)))
	}
	for i, l := range w.leaders {
		if !l.alive {
			continue
		}
		v, ok := l.ledger.View(w.bucket())
		if !ok {
			parts = append(parts, fmt.Sprintf("leader %d: not read", i))
			continue
		}
		parts = append(parts, fmt.Sprintf("leader %d: A %d+%d, C %d, O %d", i, v.Pool, v.Pending, v.Chunk, v.Outstanding))
	}
	return strings.Join(parts, "; ")
}
