package etcdstore

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// Modes of a proxy.
const (
	open    int32 = iota // bytes go both ways
	deaf                 // what the server says is dropped
	severed              // new connections are closed at once
)

// proxy stands between a client and its etcd.
type proxy struct {
	listener net.Listener
	to       string
	mode     atomic.Int32

	mu    sync.Mutex
	conns map[net.Conn]struct{} // belongs to mu
	done  sync.WaitGroup
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: l, to: to, conns: map[net.Conn]struct{}{}}
	p.done.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.mode.Store(severed)
		p.cut()
		p.done.Wait()
	})
	return p
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		_ = c.Close()
	}
	clear(p.conns)
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.to)
		if err != nil {
			_ = client.Close()
			continue
		}
		if !p.keep(client, server) {
			continue
		}
		p.done.Go(func() { p.copy(server, client, func() bool { return true }) })
		p.done.Go(func() { p.copy(client, server, func() bool { return p.mode.Load() == open }) })
	}
}

// keep notes both ends, or closes them.
func (p *proxy) keep(client, server net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mode.Load() == severed {
		_, _ = client.Close(), server.Close()
		return false
	}
	p.conns[client], p.conns[server] = struct{}{}, struct{}{}
	return true
}

func (p *proxy) copy(to, from net.Conn, passes func() bool) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		w := io.Discard
		if passes() {
			w = to
		}
		if _, err = w.Write(buf[:n]); err != nil {
			return
		}
	}
}
