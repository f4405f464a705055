package demo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// listen listens on a port of this machine alone, or on a free one when another
// process has it.
func listen(ctx context.Context, port int) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", loopback(port))
	if errors.Is(err, syscall.EADDRINUSE) {
		return new(net.ListenConfig).Listen(ctx, "tcp", loopback(0))
	}
	return l, err
}

// freePort is listen for those who listen themselves: the address is free now.
func freePort(ctx context.Context, port int) (string, error) {
	l, err := listen(ctx, port)
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

func closeAll(all []net.Listener) {
	for _, l := range all {
		_ = l.Close() // nobody has come yet
	}
}
