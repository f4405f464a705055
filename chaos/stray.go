package chaos

import (
	"time"

	"github.com/a1009580/leasehold/lease"
)

// stray is a floor of a window quota that a leader gave whose store had lost its
// past: somebody else may own the same slot, and both spend from it as far as
// through. That is beyond the promise, and never more.
type stray struct {
	slot    int32
	grant   uint64
	tokens  int64
	through int64 // window
}

// strayed is what strays may spend in a window.
func (m *meter) strayed(window int64) (tokens int64) {
	for i := range m.strays {
		if window <= m.strays[i].through {
			tokens += m.strays[i].tokens
		}
	}
	return tokens
}

// straying notes what a leader tells of floors that does not know that its store
// lost its past.
func (w *World) straying(e lease.Epoch, g *lease.FloorGrant) {
	if !w.everLost || e.History > w.lostHistory || g.Wall == 0 {
		return
	}
	for b := range w.ids {
		if w.ids[b].Quota == g.Quota {
			w.bounds[b].stray(g, w.largestPart(g))
		}
	}
}

// largestPart is the largest part of the floor of any policy, and where it ends
// for the slot of g: who else has it, may have it by another policy.
func (w *World) largestPart(g *lease.FloorGrant) (s stray) {
	s = stray{slot: g.Slot, grant: g.Grant, tokens: g.Tokens}
	for _, p := range w.cfg.Policies {
		for i := range p {
			if t := &p[i]; t.Quota == g.Quota {
				for _, f := range t.Floors {
					s.tokens = max(s.tokens, f.Tokens)
				}
				s.through = max(s.through, t.Windows.Index(time.Unix(0, g.Wall).Add(g.TTL)))
			}
		}
	}
	return s
}

func (m *meter) stray(g *lease.FloorGrant, s stray) {
	for i := range m.strays {
		if o := &m.strays[i]; o.slot == g.Slot && o.grant == g.Grant {
			o.tokens, o.through = max(o.tokens, s.tokens), max(o.through, s.through)
			return
		}
	}
	m.strays = append(m.strays, s)
}
