package lease

import (
	"errors"
	"fmt"
	"time"
)

// ErrStale says that a coordinator is older than one already seen, or of
// another cluster; the holder does not talk to it.
var ErrStale = errors.New("lease: coordinator refused")

// claimsInPiece keeps the pieces of a Hello below 4 MiB with keys of 1 KiB.
const claimsInPiece = 2000

// Welcome opens a session: the holder drops what is older and answers with its
// Hello. The caller has adopted the policy of w before.
//
// To a coordinator that is older than one already seen it fails with ErrStale,
// and returns a Hello that claims nothing and opens nothing: sent to that
// coordinator, it is the witness by which a store that lost its past, or a
// leader that does not know of its end, is recognised (laws 9 and 13).
func (h *Holder) Welcome(now time.Duration, w Welcome) ([]Hello, error) {
	if h.cluster != "" && w.Cluster != h.cluster {
		return nil, fmt.Errorf("%w: it is of cluster %q, this holder of %q", ErrStale, w.Cluster, h.cluster)
	}
	if h.Older(w) {
		return []Hello{h.sign(w, Hello{Last: true})}, fmt.Errorf("%w: epoch %v at store revision %d, but epoch %v at %d was seen",
			ErrStale, w.Session.Epoch, w.StoreRevision, h.seenEpoch, h.seenRevision)
	}
	if w.Session.Compare(h.session) <= 0 {
		return nil, fmt.Errorf("%w: session %v is not newer than %v", ErrStale, w.Session, h.session)
	}
	h.forgetHints(w.Session.Epoch)
	h.session = w.Session
	h.drift, h.interval = w.Drift, w.ReportInterval
	h.dropped, h.closed = nil, 0
	pieces := h.claims(now)
	for i := range pieces {
		pieces[i].Piece, pieces[i].Last = uint32(i), i == len(pieces)-1
		pieces[i] = h.sign(w, pieces[i])
	}
	h.cluster = w.Cluster
	h.see(w.Session.Epoch, w.StoreRevision)
	h.lastOut, h.clocked = now-time.Hour, false
	h.retellCuts()
	h.retellOverspent()
	h.live.Store(true)
	return pieces, nil
}

// Older says that a coordinator knows less than one that was seen before, or is
// of another cluster: its policy is not adopted.
func (h *Holder) Older(w Welcome) bool {
	return h.cluster != "" && w.Cluster != h.cluster || w.Session.Epoch.Compare(h.seenEpoch) < 0 ||
		w.Session.Epoch.History == h.seenEpoch.History && w.StoreRevision < h.seenRevision
}

// see keeps the highest epoch and revision; revisions of different histories
// do not compare.
func (h *Holder) see(e Epoch, revision int64) {
	if e.History > h.seenEpoch.History {
		h.seenRevision = 0
	}
	if e.Compare(h.seenEpoch) > 0 {
		h.seenEpoch = e
	}
	h.seenRevision = max(h.seenRevision, revision)
}

func (h *Holder) sign(w Welcome, p Hello) Hello {
	p.Session, p.Cluster, p.Holder = w.Session, h.cluster, h.cfg.ID
	p.SeenEpoch, p.SeenRevision, p.PolicyRevision = h.seenEpoch, h.seenRevision, h.policy
	return p
}

// claims lists what the holder has, and renumbers its accounts for the new
// session: the n-th claim is account n, granted what is claimed. What has run
// out is dropped.
func (h *Holder) claims(now time.Duration) []Hello {
	h.adoptBorn()
	pieces := []Hello{{Floors: h.floorClaims(now)}}
	n := uint64(0)
	for _, c := range h.cells {
		c.resetHandback()
		l := c.lease.Load()
		if l == nil {
			continue
		}
		refunded := l.refundedNow() // before spent, so that it is never above it
		spent := l.spent.Load()
		claim := Claim{
			Bucket: c.id, Session: l.session, Account: l.account,
			Spent: spent - l.base, Returned: l.returned, Refunded: refunded, Window: l.window,
		}
		claim.Unspent = l.granted - claim.Spent - claim.Returned
		if claim.Unspent == 0 || now >= time.Duration(l.deadline.Load()) {
			c.drop()
			continue
		}
		n++
		l.session, l.account, l.base, l.granted, l.returned, l.echo = h.session, n, spent, claim.Unspent, 0, 0
		l.closeRefunds()
		r := &c.report
		r.spent, r.returned, r.refunded, r.granted, r.echo = 0, 0, 0, 0, 0
		if last := &pieces[len(pieces)-1]; len(last.Claims) < claimsInPiece {
			last.Claims = append(last.Claims, claim)
		} else {
			pieces = append(pieces, Hello{Claims: []Claim{claim}})
		}
	}
	return pieces
}

// floorClaims lists the floors that the holder owns, in the order of their
// quotas.
func (h *Holder) floorClaims(now time.Duration) []FloorClaim {
	var claims []FloorClaim
	for _, name := range h.names {
		q, _ := h.quotas.Load(name)
		f := q.floor.Load()
		switch {
		case f == nil:
		case now >= time.Duration(f.deadline.Load()):
			q.floor.Store(nil)
		default:
			claims = append(claims, FloorClaim{Quota: name, Slot: f.slot, Grant: f.grant})
		}
	}
	return claims
}

// drop takes away what a cell has leased; the next decision on it is cold.
func (c *Cell) drop() {
	if l := c.lease.Swap(nil); l != nil {
		l.available.Swap(0)
		c.answered.Store(false)
	}
}

// Disconnected says that the session's stream ended. Leases and floors live on
// until their deadlines.
func (h *Holder) Disconnected() { h.live.Store(false) }
