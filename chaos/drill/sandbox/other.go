//go:build !linux

package sandbox

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"runtime"
)

func unavailable() error { return fmt.Errorf("%w on %s", ErrUnavailable, runtime.GOOS) }

// Sandbox, Room and Cut exist on Linux alone.
type (
	Sandbox struct{}
	Room    struct{}
	Cut     struct{}
)

// Command returns a command that fails.
func Command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(context.Background(), "", args...)
	cmd.Err = unavailable()
	return cmd
}

// Why returns err.
func Why(err error) error { return err }

// New returns ErrUnavailable.
func New() (*Sandbox, error) { return nil, unavailable() }

// Dir returns no directory.
func (*Sandbox) Dir() string { return "" }

// Room returns ErrUnavailable.
func (*Sandbox) Room() (*Room, error) { return nil, unavailable() }

// Cut returns ErrUnavailable.
func (*Sandbox) Cut(_, _ *Room) (*Cut, error) { return nil, unavailable() }

// Addr returns no address.
func (*Room) Addr() string { return "" }

// Alias returns ErrUnavailable.
func (*Room) Alias(string) error { return unavailable() }

// Start returns ErrUnavailable.
func (*Room) Start(*exec.Cmd) error { return unavailable() }

// Listen returns ErrUnavailable.
func (*Room) Listen(context.Context, string) (net.Listener, error) { return nil, unavailable() }

// Dial returns ErrUnavailable.
func (*Room) Dial(context.Context, string) (net.Conn, error) { return nil, unavailable() }

// Dropped returns ErrUnavailable.
func (*Cut) Dropped() (uint64, error) { return 0, unavailable() }

// Heal returns ErrUnavailable.
func (*Cut) Heal() (uint64, error) { return 0, unavailable() }
