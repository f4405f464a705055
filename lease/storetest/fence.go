package storetest

import (
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// fenceChecks are about law 9: no transaction but the present leader's.
func fenceChecks() []check {
	return []check{
		{"fence/no key, no transaction", noKey},
		{"fence/a name alone is no key", nameAlone},
		{"fence/a deleted key", deletedKey},
		{"fence/a former leader", formerLeader},
		{"fence/fenced goes before conflict", fencedFirst},
	}
}

func noKey(p *probe) {
	p.refused(lease.ErrFenced, lease.LeaderKey{}, put("k", "1", 0))
	p.refused(lease.ErrFenced, lease.LeaderKey{Key: "nobody"}, put("k", "1", 0))
	p.refused(lease.ErrFenced, lease.LeaderKey{Key: "nobody", Revision: 1}, put("k", "1", 0))
	key := p.lead("a").Key()
	p.refused(lease.ErrFenced, lease.LeaderKey{}, put("k", "1", 0))
	p.refused(lease.ErrFenced, lease.LeaderKey{Revision: key.Revision}, put("k", "1", 0))
	p.refused(lease.ErrFenced, lease.LeaderKey{}) // without a write either
}

func nameAlone(p *probe) {
	key := p.lead("a").Key()
	require.Positive(p, key.Revision)
	for _, wrong := range []int64{0, key.Revision - 1, key.Revision + 1, -key.Revision} {
		p.refused(lease.ErrFenced, lease.LeaderKey{Key: key.Key, Revision: wrong}, put("k", "1", 0))
	}
	p.commit(key, put("k", "1", 0))
}

func deletedKey(p *probe) {
	l := p.lead("a")
	r := p.commit(l.Key(), put("k", "1", 0))
	require.NoError(p, p.DeleteKey(p.ctx, l.Key()))
	p.refused(lease.ErrFenced, l.Key(), put("k", "2", r), put("new", "1", 0))
	p.refused(lease.ErrFenced, l.Key())
	p.holds("k", "1", r)
}

func formerLeader(p *probe) {
	first := p.lead("a")
	r := p.commit(first.Key(), put("k", "1", 0))
	require.NoError(p, first.Resign(p.ctx))
	p.refused(lease.ErrFenced, first.Key(), put("k", "2", r))

	second := p.lead("b")
	require.Greater(p, second.Key().Revision, first.Key().Revision, "the order of leaders is that of their keys")
	r = p.commit(second.Key(), put("k", "2", r))
	p.refused(lease.ErrFenced, first.Key(), put("k", "3", r), put("new", "1", 0))
	p.holds("k", "2", r)

	// The same process once more is another leader.
	require.NoError(p, second.Resign(p.ctx))
	third := p.lead("a")
	require.Greater(p, third.Key().Revision, second.Key().Revision)
	r = p.commit(third.Key(), put("k", "3", r))
	p.refused(lease.ErrFenced, first.Key(), put("k", "4", r))
	p.refused(lease.ErrFenced, second.Key(), put("k", "4", r))
}

func fencedFirst(p *probe) {
	l := p.lead("a")
	p.commit(l.Key(), put("k", "1", 0))
	require.NoError(p, p.DeleteKey(p.ctx, l.Key()))
	p.refused(lease.ErrFenced, l.Key(), put("k", "2", 0))
}
