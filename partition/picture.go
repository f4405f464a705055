package partition

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// Changes returns the changes of links since it was last called, and the cuts that holders told of since then.
func (b *Board) Changes() ([]Change, []Begun) {
	changes, cuts := b.changes, b.cuts
	b.changes, b.cuts = nil, nil
	return changes, cuts
}

// Picture is what a board knows at a time. It does not change, and may be read concurrently.
type Picture struct {
	peers   []peer
	history *History
	// Forgotten is how many holders were forgotten since there were too many.
	Forgotten int
}

// Picture returns what is known by now.
func (b *Board) Picture(now time.Duration) *Picture {
	b.Tick(now)
	if b.shown == nil || b.shownAt != b.history.changes {
		b.shown, b.shownAt = b.history.Clone(), b.history.changes
	}
	p := &Picture{history: b.shown, Forgotten: b.lost, peers: make([]peer, 0, len(b.peers))}
	for _, one := range b.peers {
		p.peers = append(p.peers, *one)
	}
	return p
}

// Bound returns the bound of a quota of the policy in force, up to now, and no less than what was reported of cuts
// under a policy that is not known.
func (p *Picture) Bound(id string, now time.Duration, reported int64) Result {
	return p.history.Covering(p.history.Bound(id, now), reported)
}

// Policy returns the policy in force.
func (p *Picture) Policy() *policy.Set { return p.history.set }

// There counts the holders of each region that may be there, connected or not.
func (p *Picture) There() map[string]int {
	n := map[string]int{}
	for i := range p.peers {
		if one := &p.peers[i]; one.gone == "" {
			n[one.id.Region]++
		}
	}
	return n
}

// LinkView is one link of a Picture.
type LinkView struct {
	Holder      lease.HolderID
	State       string // of a Link, or Gone
	Reason      string
	Since       time.Duration // how long it has been so
	LastProof   time.Duration // how long ago the holder was last heard to hear us
	Session     uint64        // 0: none is open
	Transitions uint64
	// Cut is the last cut that is known, of the holder's own numbering if it told of it; 0 with a Length of 0 is
	// none. Cuts is how many it told of.
	Cut  Took
	Cuts uint64
}

// Links returns all links, by region, node and holder, as they were then; what lasts, lasts until now.
func (p *Picture) Links(now time.Duration) []LinkView {
	views := make([]LinkView, len(p.peers))
	for i := range p.peers {
		one := &p.peers[i]
		views[i] = LinkView{
			Holder: one.id, State: one.state(), Reason: one.reason(), Since: now - one.link.Since(), Session: one.session,
			LastProof: now - one.link.proof, Transitions: one.link.Transitions(), Cut: p.history.last(one, now), Cuts: one.total,
		}
		if one.gone != "" {
			views[i].Since = now - one.goneAt
		}
	}
	slices.SortFunc(views, func(a, b LinkView) int {
		return cmp.Or(cmp.Compare(a.Holder.Region, b.Holder.Region), cmp.Compare(a.Holder.Node, b.Holder.Node),
			cmp.Compare(a.Holder.String(), b.Holder.String()))
	})
	return views
}

// last returns the last cut of a holder, with its length by now.
func (h *History) last(p *peer, now time.Duration) Took {
	t := p.last
	if o := h.open[p.id]; o.silent != nil {
		t = o.silent.Took
	} else if o.told != nil {
		t = o.told.Took
	}
	if t.Open = t.Open && p.gone == ""; t.Open {
		t.Length = add(t.Length, max(0, now-t.At))
	}
	return t
}

// States counts the links of each region by their states; those of other regions than the named ones are
// "other", since a holder may call itself anything.
func (p *Picture) States(named map[string]bool) map[string]map[string]int {
	counts := map[string]map[string]int{}
	for region := range maps.Keys(named) {
		counts[region] = map[string]int{}
	}
	for i := range p.peers {
		one := &p.peers[i]
		region := one.id.Region
		if !named[region] {
			region = "other"
		}
		if counts[region] == nil {
			counts[region] = map[string]int{}
		}
		counts[region][one.state()]++
	}
	return counts
}
