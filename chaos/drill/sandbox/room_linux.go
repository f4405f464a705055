package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"

	"github.com/vishvananda/netlink"
)

// maxRooms is how many addresses there are in the last byte of ours.
const maxRooms = 200

// Room is a network of its own for one process, on the sandbox's bridge. Its
// methods may be used concurrently.
type Room struct {
	sandbox *Sandbox
	port    string // of the bridge
	space   space
	addr    string
}

// Room makes one.
func (s *Sandbox) Room() (*Room, error) {
	if s.rooms == maxRooms {
		return nil, fmt.Errorf("sandbox: more than %d rooms", maxRooms)
	}
	s.rooms++
	r := &Room{sandbox: s, port: fmt.Sprintf("room%d", s.rooms), addr: fmt.Sprintf("10.200.0.%d", 10+s.rooms)}
	var err error
	if r.space, err = s.thread.create(); err != nil {
		return nil, err
	}
	const inside = "eth0"
	veth := &netlink.Veth{
		LinkAttrs: netlink.LinkAttrs{Name: r.port, MasterIndex: s.bridge.Index},
		PeerName:  inside, PeerNamespace: netlink.NsFd(r.space.file.Fd()),
	}
	if err := netlink.LinkAdd(veth); err != nil {
		return nil, fmt.Errorf("%w: a pair of interfaces: %w", ErrUnavailable, err)
	}
	if err := raise(r.port); err != nil {
		return nil, err
	}
	err = s.thread.in(r.space, func() error {
		return errors.Join(address(inside, r.addr+"/16"), raise("lo"), raise(inside))
	})
	return r, err
}

// Addr is the room's address, which all rooms and the sandbox's own process can
// reach.
func (r *Room) Addr() string { return r.addr }

// Alias gives the room one more address, which is its own alone: what is sent to
// it from in here stays in here.
func (r *Room) Alias(ip string) error {
	return r.sandbox.thread.in(r.space, func() error { return address("lo", ip+"/32") })
}

// Start starts a command in the room.
func (r *Room) Start(cmd *exec.Cmd) error {
	return r.sandbox.thread.in(r.space, cmd.Start)
}

// Listen listens in the room.
func (r *Room) Listen(ctx context.Context, addr string) (l net.Listener, err error) {
	err = r.sandbox.thread.in(r.space, func() error {
		l, err = new(net.ListenConfig).Listen(ctx, "tcp", addr)
		return err
	})
	return l, err
}

// Dial connects from the room. The address must be one of IP.
func (r *Room) Dial(ctx context.Context, addr string) (net.Conn, error) {
	return aside(r.space, func() (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", addr) })
}
