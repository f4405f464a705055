package sandbox

import (
	"fmt"
	"net"
	"net/netip"

	"github.com/google/nftables"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// The network of a sandbox: the bridge has the first address, where the process
// itself is, and rooms have the next ones.
const (
	bridgeName = "drill"
	bridgeAddr = "10.200.0.1/16"
)

// Sandbox is a bridge with rooms on it. Its methods may be used concurrently,
// except that Room must not be.
type Sandbox struct {
	thread *thread
	bridge *netlink.Bridge
	rooms  int
	filter *nftables.Conn
	table  *nftables.Table
	chain  *nftables.Chain
	rules  rules
}

// New builds the sandbox. It must be called once, in a process that Command
// started.
func New() (*Sandbox, error) {
	if err := mountScratch(); err != nil {
		return nil, err
	}
	t, err := newThread()
	if err != nil {
		return nil, err
	}
	s := &Sandbox{thread: t, bridge: &netlink.Bridge{LinkAttrs: netlink.LinkAttrs{Name: bridgeName}}}
	if err := raise("lo"); err != nil {
		return nil, err
	}
	if err := netlink.LinkAdd(s.bridge); err != nil {
		return nil, fmt.Errorf("%w: a bridge: %w", ErrUnavailable, err)
	}
	if err := address(bridgeName, bridgeAddr); err != nil {
		return nil, err
	}
	if err := raise(bridgeName); err != nil {
		return nil, err
	}
	if err := s.newFilter(); err != nil {
		return nil, err
	}
	return s, nil
}

// Dir is a directory in memory, which ends with the sandbox.
func (*Sandbox) Dir() string { return scratch }

// raise takes an interface of the calling thread's namespace up.
func raise(name string) error {
	link, err := netlink.LinkByName(name)
	if err == nil {
		err = netlink.LinkSetUp(link)
	}
	if err != nil {
		return fmt.Errorf("take interface %s up: %w", name, err)
	}
	return nil
}

// address gives an interface of the calling thread's namespace an address.
func address(name, cidr string) error {
	prefix, err := netip.ParsePrefix(cidr)
	if err != nil {
		return fmt.Errorf("address %s: %w", cidr, err)
	}
	link, err := netlink.LinkByName(name)
	if err == nil {
		ip := &net.IPNet{IP: prefix.Addr().AsSlice(), Mask: net.CIDRMask(prefix.Bits(), 32)}
		// Without a broadcast address and without the check for duplicates:
		// nobody else can be in here.
		err = netlink.AddrAdd(link, &netlink.Addr{IPNet: ip, Flags: unix.IFA_F_NODAD})
	}
	if err != nil {
		return fmt.Errorf("give interface %s the address %s: %w", name, cidr, err)
	}
	return nil
}
