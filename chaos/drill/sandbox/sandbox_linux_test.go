package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/sandbox"
)

// inside is set in the process that is run in the namespaces.
const inside = "DRILL_SANDBOX_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(inside) == "" {
		os.Exit(m.Run())
	}
	if err := tour(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestCutsAreOneWayAndCounted runs tour in a sandbox.
func TestCutsAreOneWayAndCounted(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := sandbox.Command("-test.run=^$")
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.Env = append(os.Environ(), inside+"=1")
	require.NoError(t, sandbox.Why(cmd.Run()), said.String())
}

// tour has two rooms talk, cuts one direction, then the other, and heals.
func tour() error {
	s, err := sandbox.New()
	if err != nil {
		return err
	}
	a, err := s.Room()
	if err != nil {
		return err
	}
	b, err := s.Room()
	if err != nil {
		return err
	}
	if err := reach(a, b, true); err != nil {
		return fmt.Errorf("at first: %w", err)
	}
	// A third room, which talks to nobody: what is flooded to it does not count.
	c, err := s.Room()
	if err != nil {
		return err
	}
	idle, err := s.Cut(a, c)
	if err != nil {
		return err
	}
	for name, pair := range map[string][2]*sandbox.Room{"there": {a, b}, "back": {b, a}} {
		cut, err := s.Cut(pair[0], pair[1])
		if err != nil {
			return err
		}
		if n, err := cut.Dropped(); err != nil || n != 0 {
			return fmt.Errorf("%s: a new cut has dropped %d: %w", name, n, err)
		}
		if err := reach(a, b, false); err != nil {
			return fmt.Errorf("cut %s: %w", name, err)
		}
		if n, err := cut.Heal(); err != nil || n == 0 {
			return fmt.Errorf("%s: the cut dropped nothing: %w", name, err)
		}
		if _, err := cut.Dropped(); err == nil {
			return fmt.Errorf("%s: a healed cut still counts", name)
		}
		if err := reach(a, b, true); err != nil {
			return fmt.Errorf("healed %s: %w", name, err)
		}
	}
	if n, err := idle.Heal(); err != nil || n != 0 {
		return fmt.Errorf("a cut between rooms that never talk dropped %d: %w", n, err)
	}
	if err := a.Alias("10.201.0.1"); err != nil {
		return err
	}
	l, err := a.Listen(context.Background(), "10.201.0.1:9000")
	if err != nil {
		return err
	}
	defer l.Close()
	return reachAddr(a, "10.201.0.1:9000", true)
}

// reach has one room dial the other, and expects that it works or does not.
func reach(from, to *sandbox.Room, works bool) error {
	l, err := to.Listen(context.Background(), to.Addr()+":8000")
	if err != nil {
		return err
	}
	defer l.Close()
	return reachAddr(from, to.Addr()+":8000", works)
}

func reachAddr(from *sandbox.Room, addr string, works bool) error {
	patience := 10 * time.Second
	if !works {
		patience = 300 * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	c, err := from.Dial(ctx, addr)
	switch {
	case err == nil && !works:
		return errors.Join(errors.New("it can be reached"), c.Close())
	case err == nil:
		return c.Close()
	case works:
		return err
	}
	return nil
}
