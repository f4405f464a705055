package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"sync"

	"github.com/a1009580/leasehold/chaos/drill/proxy"
)

const (
	mostPlaces = 200
	frontPort  = 7600
)

// loopback is a network of loopback addresses, one for each process, for where
// there are no namespaces. Only what passes a proxy can be cut.
type loopback struct {
	dir     string
	prefix  string // of its addresses: 127.x.y.
	starter starter

	mu      sync.Mutex
	places  int
	proxies map[[2]string]*proxy.Proxy // by the addresses of both sides
}

// Loopback returns a network on the loopback interface, with data in dir. The
// addresses are drawn, so that two drills do not meet.
func Loopback(dir string) Network {
	return &loopback{
		dir: dir, starter: newStarter(), proxies: map[[2]string]*proxy.Proxy{},
		prefix: fmt.Sprintf("127.%d.%d.", 64+rand.IntN(128), rand.IntN(256)),
	}
}

// Mode implements Network.
func (*loopback) Mode() string { return "proxies" }

// Dir implements Network.
func (l *loopback) Dir() string { return l.dir }

// Proxied implements Network.
func (*loopback) Proxied() bool { return true }

// Front is a port of the place itself. A region that is told who leads cannot be
// led to its own proxy: the address that is advertised leads nowhere, and the
// region goes on to the next that it was given.
func (*loopback) Front(p Place, n int) (string, error) {
	return net.JoinHostPort(p.Addr(), strconv.Itoa(frontPort+n)), nil
}

// Advertised implements Network.
func (l *loopback) Advertised(n int) string {
	return net.JoinHostPort(l.prefix+strconv.Itoa(mostPlaces+1+n), strconv.Itoa(coordinatorPort))
}

// Place implements Network.
func (l *loopback) Place() (Place, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.places == mostPlaces {
		return nil, fmt.Errorf("fleet: more than %d places", l.places)
	}
	l.places++
	return corner{l.prefix + strconv.Itoa(l.places), l.starter}, nil
}

// Through implements Network.
func (l *loopback) Through(from, to Place, p *proxy.Proxy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.proxies[[2]string{from.Addr(), to.Addr()}] = p
}

// Cut implements Network.
func (l *loopback) Cut(from, to Place) (Cut, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.proxies[[2]string{from.Addr(), to.Addr()}]; p != nil {
		return newHold(p, proxy.Forth), nil
	}
	if p := l.proxies[[2]string{to.Addr(), from.Addr()}]; p != nil {
		return newHold(p, proxy.Back), nil
	}
	return nil, ErrNoWay
}

// hold is a cut by a proxy.
type hold struct {
	proxy  *proxy.Proxy
	before int64
	heal   func()
}

func newHold(p *proxy.Proxy, d proxy.Direction) *hold {
	before := p.Stats().Held
	return &hold{proxy: p, before: before, heal: p.Cut(d)}
}

// Dropped implements Cut.
func (h *hold) Dropped() (uint64, error) { return uint64(h.proxy.Stats().Held - h.before), nil }

// Heal implements Cut.
func (h *hold) Heal() (uint64, error) {
	h.heal()
	return h.Dropped()
}

// corner is a place with a loopback address.
type corner struct {
	addr    string
	starter starter
}

// Addr implements Place.
func (c corner) Addr() string { return c.addr }

// Start implements Place.
func (c corner) Start(cmd *exec.Cmd) error { return c.starter.start(cmd) }

// Listen implements Place.
func (corner) Listen(ctx context.Context, addr string) (net.Listener, error) {
	return new(net.ListenConfig).Listen(ctx, "tcp", addr)
}

// Dial implements Place.
func (corner) Dial(ctx context.Context, addr string) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", addr)
}
