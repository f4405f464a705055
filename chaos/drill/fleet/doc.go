// Package fleet runs the processes of a drill: members of an etcd, coordinators
// and regions, each in a place of its own, all from one binary. It starts and
// kills them, makes the ways between them long or cuts them, and asks them how
// they are.
//
// What it is told of the system comes by the same addresses that an operator
// uses. It decides nothing about what it sees.
package fleet

import (
	"context"
	"errors"
	"net"
	"os/exec"

	"github.com/a1009580/leasehold/chaos/drill/proxy"
)

// Place is where a process lives, with an address that is its own.
type Place interface {
	// Addr is an IP address.
	Addr() string
	// Start starts a command there. The command is killed when this process ends.
	Start(cmd *exec.Cmd) error
	Listen(ctx context.Context, addr string) (net.Listener, error)
	Dial(ctx context.Context, addr string) (net.Conn, error)
}

// Network makes places, and keeps them from reaching each other.
type Network interface {
	// Mode is "namespaces" or "proxies".
	Mode() string
	// Dir is a directory for the data of all processes.
	Dir() string
	Place() (Place, error)
	// Front returns the address, without a port that anything else uses, at which
	// a place is to reach a proxy in front of coordinator n, from 0. Advertised is
	// the one that this coordinator gives as its own: it must not lead past the
	// proxies.
	Front(p Place, n int) (string, error)
	Advertised(n int) string
	// Proxied says that whatever passes between two places must pass a proxy,
	// since there is no other way to make that way bad.
	Proxied() bool
	// Through tells the network of a proxy on the way from one place to another.
	Through(from, to Place, p *proxy.Proxy)
	// Cut takes one direction away. It returns ErrNoWay where nothing could pass
	// anyway, and ErrUncuttable where it cannot.
	Cut(from, to Place) (Cut, error)
}

// Cut is one direction that is taken away.
type Cut interface {
	// Dropped is how much it kept back so far: frames or pieces.
	Dropped() (uint64, error)
	// Heal ends it and returns the same.
	Heal() (uint64, error)
}

// Errors of Network.Cut.
var (
	// ErrNoWay says that the two never talk.
	ErrNoWay = errors.New("there is no way between the two")
	// ErrUncuttable says that this network cannot cut that way.
	ErrUncuttable = errors.New("this way can only be cut where namespaces are available")
)
