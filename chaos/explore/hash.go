package explore

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// Hash is by what a state is recognised. Two states are taken for one with a
// chance of about 2^-128 for each pair of them.
type Hash [16]byte

var seeds = [2]maphash.Seed{maphash.MakeSeed(), maphash.MakeSeed()}

func hashOf(b []byte) (h Hash) {
	binary.LittleEndian.PutUint64(h[:8], maphash.Bytes(seeds[0], b))
	binary.LittleEndian.PutUint64(h[8:], maphash.Bytes(seeds[1], b))
	return h
}

// sum is the hash of a part of a world at a moment; a part that did not change
// keeps it until time goes on.
type sum struct {
	known bool
	at    time.Duration
	hash  Hash
}

func (s *sum) get(at time.Duration, state func() []byte) Hash {
	if !s.known || s.at != at {
		*s = sum{known: true, at: at, hash: hashOf(state())}
	}
	return s.hash
}

// hasher keeps the memory that hashing needs. One goroutine owns it.
type hasher struct {
	whole, part []byte
	messages    [][]byte
}

// Hash returns the hash of a world.
func (x *hasher) Hash(w *World) Hash {
	b := x.whole[:0]
	for i := range w.leaders {
		l := w.leaders[i]
		if !l.alive {
			b = append(b, 0)
			continue
		}
		h := l.sum.get(w.now, func() []byte { x.part = w.ledgerState(x.part[:0], int8(i)); return x.part })
		b = append(b, h[:]...)
	}
	for i, p := range w.holders {
		h := p.sum.get(w.now, func() []byte {
			x.part = p.h.AppendState(append(x.part[:0], p.incarnation, bit(p.left)), w.holderFrame(int8(i)))
			return x.part
		})
		b = append(b, h[:]...)
	}
	s := w.store.sum.get(0, func() []byte { x.part = w.store.appendState(x.part[:0]); return x.part })
	b = append(b, s[:]...)
	b = x.inFlight(b, w, w.up)
	b = x.inFlight(b, w, w.down)
	for _, t := range w.txns {
		b = append(b, byte(t.leader), byte(t.txn.ID), byte(t.txn.ID>>8)) // what it writes is known by the ledger's flights
		b = appendWrites(b, t.txn.Writes)
	}
	b = w.left.appendState(append(b, byte(len(w.txns))))
	b = w.meter.appendState(b, w)
	x.whole = b
	return hashOf(b)
}

// inFlight writes messages without their order: any may be delivered next.
func (x *hasher) inFlight(b []byte, w *World, list []*message) []byte {
	for len(x.messages) < len(list) {
		x.messages = append(x.messages, nil)
	}
	own := x.messages[:len(list)]
	for i, m := range list {
		own[i] = w.messageState(own[i][:0], m)
	}
	slices.SortFunc(own, bytes.Compare)
	b = append(b, byte(len(list)))
	for _, m := range own {
		b = append(binary.AppendUvarint(b, uint64(len(m))), m...)
	}
	return b
}

func (w *World) messageState(b []byte, m *message) []byte {
	f := w.holderFrame(m.holder)
	b = append(b, byte(m.holder), byte(m.leader), m.incarnation)
	switch {
	case m.report != nil:
		return m.report.AppendState(append(b, 1), f, f.Now.Mono)
	case m.hello != nil:
		return m.hello.AppendState(append(b, 2), f)
	default:
		return m.grants.AppendState(append(b, 3), f, f.Now.Mono)
	}
}

// holderFrame looks at a holder, or at what it sends and gets.
func (w *World) holderFrame(i int8) lease.Frame {
	return lease.Frame{Plain: true, Now: lease.Moment{Mono: w.holderClock(i), Wall: epochStart.Add(w.now)}}
}

func (w *World) ledgerState(b []byte, i int8) []byte {
	l := w.leaders[i]
	for _, h := range l.sessions {
		b = append(b, byte(h))
	}
	b = append(b, bit(l.scanned))
	return l.ledger.AppendState(b, lease.Frame{Plain: true, Now: w.moment(i), Holder: w.clockOf})
}

// clockOf is the clock of a holder, whatever incarnation of it.
func (w *World) clockOf(id lease.HolderID) time.Duration {
	i := slices.Index(w.scene.Holders, id.Region)
	return w.holderClock(int8(max(0, i)))
}

func (s *store) appendState(b []byte) []byte {
	b = binary.AppendVarint(binary.AppendVarint(b, s.revision), s.leader)
	for _, e := range s.with("") {
		b = append(append(b, e.Key...), 0)
		b = append(binary.AppendUvarint(b, uint64(len(e.Value))), e.Value...)
		b = binary.AppendVarint(b, e.Revision)
	}
	return b
}

func appendWrites(b []byte, writes []lease.Write) []byte {
	for _, x := range writes {
		b = append(append(b, x.Key...), bit(x.Value == nil))
		b = append(binary.AppendUvarint(b, uint64(len(x.Value))), x.Value...)
		b = binary.AppendVarint(b, x.Expect)
	}
	return b
}

func (l *Budget) appendState(b []byte) []byte {
	return append(b, l.Duplicates, l.Drops, l.Refusals, l.Unknowns, l.Reconnects, l.Crashes, l.Leavings, l.Takeovers, l.Usurpers, l.Steps)
}

func (m *meter) appendState(b []byte, w *World) []byte {
	b = binary.AppendVarint(b, m.level)
	for _, c := range m.windows {
		if c.n > 0 {
			b = binary.AppendVarint(b, c.window-epochStart.Add(w.now).UnixMilli())
		}
		b = binary.AppendVarint(b, c.n)
	}
	return b
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}
