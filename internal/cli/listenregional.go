package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"github.com/a1009580/leasehold/internal/regional"
)

// addresses are where a regional process listens.
type addresses struct{ grpc, http, proxies, socket string }

// listen opens all of them, or none.
func (a *addresses) listen(ctx context.Context, o *regional.Options) (err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll(o))
		}
	}()
	if o.GRPC, err = Listen(ctx, "listen", a.grpc); err != nil {
		return err
	}
	if o.HTTP, err = Listen(ctx, "http", a.http); err != nil {
		return err
	}
	if a.proxies != "" {
		l, err := Listen(ctx, "envoy-listen", a.proxies)
		if err != nil {
			return err
		}
		o.Proxies = append(o.Proxies, l)
	}
	if a.socket != "" {
		l, err := listenSocket(ctx, a.socket)
		if err != nil {
			return err
		}
		o.Proxies = append(o.Proxies, l)
	}
	return nil
}

// closeAll closes what is open.
func closeAll(o *regional.Options) (err error) {
	for _, l := range append([]net.Listener{o.GRPC, o.HTTP}, o.Proxies...) {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	return err
}

// listenSocket listens on a unix socket. One on which nobody listens any more was
// left by a process that was killed, and is replaced; nothing else is.
func listenSocket(ctx context.Context, path string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if !errors.Is(err, syscall.EADDRINUSE) {
		return l, aboutSocket(path, err)
	}
	info, statErr := os.Lstat(path)
	if statErr != nil || info.Mode().Type() != os.ModeSocket {
		return nil, aboutSocket(path, errors.New("there is something else that is no socket"))
	}
	c, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err == nil {
		return nil, errors.Join(BusyPort("envoy-socket", path), c.Close())
	}
	if err := os.Remove(path); err != nil {
		return nil, aboutSocket(path, err)
	}
	l, err = new(net.ListenConfig).Listen(ctx, "unix", path)
	return l, aboutSocket(path, err)
}

// aboutSocket is an error about the flag's value, nil if there is none.
func aboutSocket(path string, err error) error {
	if err == nil {
		return nil
	}
	return WithCode(Usage, fmt.Errorf("--envoy-socket %s: %w", path, err))
}
