package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
)

// Listen listens on the address of a flag. What goes wrong names the flag, and
// a busy port says what to do.
func Listen(ctx context.Context, flag, addr string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, BusyPort(flag, addr)
	case err != nil:
		return nil, WithCode(Usage, fmt.Errorf("--%s %s: %w", flag, addr, err))
	}
	return l, nil
}

// BusyPort says that an address is taken and which flag moves it.
func BusyPort(flag, addr string) error {
	return fmt.Errorf("--%s %s: the address is in use by another process: end that one, or pass another --%s", flag, addr, flag)
}
