package fleet

import (
	"errors"
	"fmt"
	"net"
	"strconv"

	"github.com/a1009580/leasehold/chaos/drill/proxy"
	"github.com/a1009580/leasehold/chaos/drill/sandbox"
)

// namespaces is the network of a sandbox.
type namespaces struct{ box *sandbox.Sandbox }

// Namespaces returns the network of a sandbox, where everything can be cut.
func Namespaces(box *sandbox.Sandbox) Network { return namespaces{box} }

// Mode implements Network.
func (namespaces) Mode() string { return "namespaces" }

// Dir implements Network.
func (n namespaces) Dir() string { return n.box.Dir() }

// Proxied implements Network.
func (namespaces) Proxied() bool { return false }

// Through implements Network.
func (namespaces) Through(_, _ Place, _ *proxy.Proxy) {}

// Place implements Network.
func (n namespaces) Place() (Place, error) { return n.box.Room() }

func (n namespaces) room(p Place) (r *sandbox.Room, err error) {
	r, ok := p.(*sandbox.Room)
	if !ok {
		return nil, errors.New("fleet: a place of another network")
	}
	return r, nil
}

// Front is the same address in every room: there it leads to the room's own
// proxy. So it is what the coordinator advertises.
func (n namespaces) Front(p Place, i int) (string, error) {
	r, err := n.room(p)
	if err != nil {
		return "", err
	}
	return n.Advertised(i), r.Alias(frontIP(i))
}

// Advertised implements Network.
func (namespaces) Advertised(i int) string {
	return net.JoinHostPort(frontIP(i), strconv.Itoa(coordinatorPort))
}

func frontIP(i int) string { return fmt.Sprintf("10.201.0.%d", i+1) }

// Cut implements Network.
func (n namespaces) Cut(from, to Place) (Cut, error) {
	a, err := n.room(from)
	if err != nil {
		return nil, err
	}
	b, err := n.room(to)
	if err != nil {
		return nil, err
	}
	c, err := n.box.Cut(a, b)
	if err != nil {
		return nil, fmt.Errorf("fleet: %w", err)
	}
	return c, nil
}
