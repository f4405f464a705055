package sandbox

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"golang.org/x/sys/unix"
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

// Cut drops frames in one direction. It counts packets of IP that one room sent to
// the other; what a bridge floods to all, such as a question for an address, is
// dropped as well and does not count: it would prove that a cut bites between rooms
// that never talk.
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
	direction := []expr.Any{
		&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: padded(from.port)},
		&expr.Meta{Key: expr.MetaKeyOIFNAME, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: padded(to.port)},
	}
	addresses, err := between(from.addr, to.addr)
	if err != nil {
		return nil, err
	}
	drop := []expr.Any{&expr.Counter{}, &expr.Verdict{Kind: expr.VerdictDrop}}
	for _, exprs := range [][]expr.Any{slices.Concat(direction, addresses, drop), slices.Concat(direction, drop)} {
		s.filter.AddRule(&nftables.Rule{Table: s.table, Chain: s.chain, UserData: c.tag, Exprs: exprs})
	}
	if err := s.filter.Flush(); err != nil {
		return nil, fmt.Errorf("cut %s off from %s: %w", from.addr, to.addr, err)
	}
	return c, nil
}

// The places of the addresses in the header of IPv4.
const (
	sourceOffset, destinationOffset = 12, 16
	addressBytes                    = 4
)

// between matches packets of IPv4 from one address to another.
func between(from, to string) ([]expr.Any, error) {
	source, err := netip.ParseAddr(from)
	if err != nil {
		return nil, err
	}
	destination, err := netip.ParseAddr(to)
	if err != nil {
		return nil, err
	}
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyPROTOCOL, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binary.BigEndian.AppendUint16(nil, unix.ETH_P_IP)},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: sourceOffset, Len: addressBytes},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: source.AsSlice()},
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseNetworkHeader, Offset: destinationOffset, Len: addressBytes},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: destination.AsSlice()},
	}, nil
}

// padded is the name of an interface as the kernel compares it.
func padded(name string) []byte {
	b := make([]byte, 16)
	copy(b, name)
	return b
}

// Dropped returns how many packets the cut has dropped so far.
func (c *Cut) Dropped() (uint64, error) {
	c.sandbox.rules.mu.Lock()
	defer c.sandbox.rules.mu.Unlock()
	_, n, err := c.find()
	return n, err
}

// Heal removes the cut, and returns how many packets it dropped.
func (c *Cut) Heal() (uint64, error) {
	c.sandbox.rules.mu.Lock()
	defer c.sandbox.rules.mu.Unlock()
	both, n, err := c.find()
	if err != nil {
		return 0, err
	}
	for _, rule := range both {
		if err := c.sandbox.filter.DelRule(rule); err != nil {
			return n, fmt.Errorf("heal %s: %w", c.tag, err)
		}
	}
	if err := c.sandbox.filter.Flush(); err != nil {
		return n, fmt.Errorf("heal %s: %w", c.tag, err)
	}
	return n, nil
}

// find reads the rules, and the counter of the first.
func (c *Cut) find() (both []*nftables.Rule, packets uint64, err error) {
	all, err := c.sandbox.filter.GetRules(c.sandbox.table, c.sandbox.chain)
	if err != nil {
		return nil, 0, fmt.Errorf("read the packet filter: %w", err)
	}
	for _, r := range all {
		if bytes.Equal(r.UserData, c.tag) {
			both = append(both, r)
		}
	}
	if len(both) != 2 {
		return nil, 0, fmt.Errorf("the packet filter has %d rules of %q, want 2", len(both), c.tag)
	}
	for _, e := range both[0].Exprs {
		if n, ok := e.(*expr.Counter); ok {
			return both, n.Packets, nil
		}
	}
	return nil, 0, fmt.Errorf("the first rule of %q does not count", c.tag)
}
