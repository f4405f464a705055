package sandbox

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
)

// rules numbers the rules of the filter, and guards it.
type rules struct {
	mu   sync.Mutex
	last uint64
}

// newFilter makes the chain that every frame from room to room passes.
func (s *Sandbox) newFilter() error {
	s.filter = &nftables.Conn{}
	s.table = s.filter.AddTable(&nftables.Table{Family: nftables.TableFamilyBridge, Name: "drill"})
	accept := nftables.ChainPolicyAccept
	s.chain = s.filter.AddChain(&nftables.Chain{
		Table: s.table, Name: "forward", Type: nftables.ChainTypeFilter, Policy: &accept,
		Hooknum: nftables.ChainHookForward, Priority: nftables.ChainPriorityFilter,
	})
	if err := s.filter.Flush(); err != nil {
		return fmt.Errorf("%w: a packet filter: %w", ErrUnavailable, err)
	}
	return nil
}

// Cut is a rule that drops frames in one direction.
type Cut struct {
	sandbox *Sandbox
	tag     []byte
}

// Cut drops every frame from one room to another from now on. Only that
// direction is cut.
func (s *Sandbox) Cut(from, to *Room) (*Cut, error) {
	s.rules.mu.Lock()
	defer s.rules.mu.Unlock()
	s.rules.last++
	c := &Cut{sandbox: s, tag: fmt.Appendf(nil, "cut %d", s.rules.last)}
	s.filter.AddRule(&nftables.Rule{Table: s.table, Chain: s.chain, UserData: c.tag, Exprs: []expr.Any{
		&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: padded(from.port)},
		&expr.Meta{Key: expr.MetaKeyOIFNAME, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: padded(to.port)},
		&expr.Counter{},
		&expr.Verdict{Kind: expr.VerdictDrop},
	}})
	if err := s.filter.Flush(); err != nil {
		return nil, fmt.Errorf("cut %s off from %s: %w", from.addr, to.addr, err)
	}
	return c, nil
}

// padded is the name of an interface as the kernel compares it.
func padded(name string) []byte {
	b := make([]byte, 16)
	copy(b, name)
	return b
}

// Dropped returns how many frames the cut has dropped so far.
func (c *Cut) Dropped() (uint64, error) {
	c.sandbox.rules.mu.Lock()
	defer c.sandbox.rules.mu.Unlock()
	_, n, err := c.find()
	return n, err
}

// Heal removes the cut, and returns how many frames it dropped.
func (c *Cut) Heal() (uint64, error) {
	c.sandbox.rules.mu.Lock()
	defer c.sandbox.rules.mu.Unlock()
	rule, n, err := c.find()
	if err != nil {
		return 0, err
	}
	if err := c.sandbox.filter.DelRule(rule); err != nil {
		return n, fmt.Errorf("heal %s: %w", c.tag, err)
	}
	if err := c.sandbox.filter.Flush(); err != nil {
		return n, fmt.Errorf("heal %s: %w", c.tag, err)
	}
	return n, nil
}

// find reads the rule and its counter.
func (c *Cut) find() (*nftables.Rule, uint64, error) {
	all, err := c.sandbox.filter.GetRules(c.sandbox.table, c.sandbox.chain)
	if err != nil {
		return nil, 0, fmt.Errorf("read the packet filter: %w", err)
	}
	for _, r := range all {
		if !bytes.Equal(r.UserData, c.tag) {
			continue
		}
		for _, e := range r.Exprs {
			if n, ok := e.(*expr.Counter); ok {
				return r, n.Packets, nil
			}
		}
	}
	return nil, 0, fmt.Errorf("the packet filter has no rule %q any more", c.tag)
}
