package storetest

import (
	"context"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// electionChecks are about Elector and Leadership. The names in brackets are
// failures seen in the field that a check guards against.
func electionChecks() []check {
	return []check{
		{"election/leader is who campaigned", whoLeads},
		{"election/in the order of standing", inOrder},
		{"election/a standby takes over at once after a resignation", afterResignation},
		{"election/a standby takes over after the lease ended", afterExpiry},
		{"election/proving keeps the leadership", proving},
		{"election/a deleted key is noticed while the lease lives", provesKey},
		{"election/a lost candidacy stands again (LSE-05)", standsAgain},
		{"election/no leadership without a key (LSE-05)", noPhantom},
		{"election/a campaign ends with its context", campaignCancelled},
		{"election/resigning twice", resignTwice},
		{"election/a resignation that failed is tried again (LSE-07)", resignAgain},
		{"election/an ended context proves nothing", proveCancelled},
	}
}

// leads checks who leads by the store's word; "" is nobody.
func (p *probe) leads(candidate string) {
	p.Helper()
	name, ok, err := p.Elector.Leader(p.ctx)
	require.NoError(p, err)
	require.Equal(p, candidate != "", ok, "somebody leads")
	require.Equal(p, candidate, name)
}

// sound checks that a leadership is one: its key exists and guards.
func (p *probe) sound(l lease.Leadership) {
	p.Helper()
	require.NoError(p, l.Prove(p.ctx))
	require.Positive(p, l.TTL())
	p.commit(l.Key())
}

// fenced checks that a leadership is over.
func (p *probe) fenced(l lease.Leadership) {
	p.Helper()
	require.ErrorIs(p, l.Prove(p.ctx), lease.ErrFenced)
	p.refused(lease.ErrFenced, l.Key(), put("of a former leader", "1", 0))
}

func whoLeads(p *probe) {
	p.leads("")
	for _, name := range []string{"a", "b at 127.0.0.1:7400", "a"} {
		l := p.lead(name)
		key := l.Key()
		p.leads(name)
		p.sound(l)
		require.Equal(p, key, l.Key(), "the key does not change")
		require.NoError(p, l.Resign(p.ctx))
		p.leads("")
	}
}

func inOrder(p *probe) {
	a := p.lead("a")
	b := p.campaign("b")
	p.stands("a", "b")
	c := p.campaign("c")
	p.stands("a", "b", "c")
	p.leads("a")
	p.waits(b)
	p.waits(c)

	require.NoError(p, a.Resign(p.ctx))
	second := p.elected(b)
	p.leads("b")
	p.waits(c)
	p.sound(second)
	p.fenced(a)

	require.NoError(p, second.Resign(p.ctx))
	third := p.elected(c)
	p.leads("c")
	p.sound(third)
	require.Greater(p, second.Key().Revision, a.Key().Revision)
	require.Greater(p, third.Key().Revision, second.Key().Revision)
}

func afterResignation(p *probe) {
	a := p.lead("a")
	b := p.campaign("b")
	p.stands("a", "b")
	require.NoError(p, a.Resign(p.ctx))
	// No time passes on a clock of the test's own: what ends is the leadership,
	// not its lease.
	p.sound(p.elected(b))
	p.fenced(a)
}

func afterExpiry(p *probe) {
	a := p.lead("a")
	b := p.campaign("b")
	p.stands("a", "b")
	p.elapse(a.TTL())
	second := p.elected(b)
	p.leads("b")
	p.fenced(a)
	require.NoError(p, a.Resign(p.ctx), "a former leader has nothing to give up")
	p.leads("b")
	p.sound(second)
}

func proving(p *probe) {
	a := p.lead("a")
	b := p.campaign("b")
	p.stands("a", "b")
	for range 6 {
		require.NoError(p, a.Prove(p.ctx))
		p.elapse(a.TTL() / 3)
	}
	p.leads("a")
	p.waits(b)
	p.commit(a.Key())
}

func provesKey(p *probe) {
	a := p.lead("a")
	p.sound(a)
	require.NoError(p, p.DeleteKey(p.ctx, a.Key()))
	p.fenced(a)
	p.leads("")
	b := p.lead("b")
	p.sound(b)
	p.fenced(a)
	require.NoError(p, a.Resign(p.ctx))
	p.leads("b")
	p.sound(b)
}

func standsAgain(p *probe) {
	a := p.lead("a")
	b := p.campaign("b")
	p.stands("a", "b")
	require.NoError(p, p.EndSession(p.ctx, "b"))
	p.stands("a", "b")
	p.waits(b)
	require.NoError(p, a.Resign(p.ctx))
	p.sound(p.elected(b))
	p.leads("b")
}

func noPhantom(p *probe) {
	a := p.lead("a")
	b := p.campaign("b")
	p.stands("a", "b")
	// Both at once: the place becomes free while b has no key.
	require.NoError(p, p.EndSession(p.ctx, "b"))
	require.NoError(p, a.Resign(p.ctx))
	p.sound(p.elected(b))
	p.leads("b")
}

func campaignCancelled(p *probe) {
	a := p.lead("a")
	b := p.campaign("b")
	p.stands("a", "b")
	b.cancel()
	select {
	case <-b.done:
	case <-p.ctx.Done():
		require.FailNow(p, "the campaign outlived its context")
	}
	require.ErrorIs(p, b.err, context.Canceled)
	require.NoError(p, a.Resign(p.ctx))
	c := p.lead("c")
	p.leads("c")
	p.sound(c)

	ended, cancel := context.WithCancel(p.ctx)
	cancel()
	_, err := p.Elector.Campaign(ended, "d")
	require.ErrorIs(p, err, context.Canceled)
}

func resignTwice(p *probe) {
	a := p.lead("a")
	require.NoError(p, a.Resign(p.ctx))
	require.NoError(p, a.Resign(p.ctx))
	p.fenced(a)
	b := p.lead("b")
	require.NoError(p, a.Resign(p.ctx))
	p.leads("b")
	p.sound(b)
}

func resignAgain(p *probe) {
	a := p.lead("a")
	b := p.campaign("b")
	p.stands("a", "b")
	ended, cancel := context.WithCancel(p.ctx)
	cancel()
	if err := a.Resign(ended); err != nil {
		require.NoError(p, a.Resign(p.ctx))
	}
	p.sound(p.elected(b))
	p.fenced(a)
}

func proveCancelled(p *probe) {
	a := p.lead("a")
	ended, cancel := context.WithCancel(p.ctx)
	cancel()
	err := a.Prove(ended)
	require.ErrorIs(p, err, lease.ErrUnavailable)
	require.NotErrorIs(p, err, lease.ErrFenced)
	p.sound(a)
}
