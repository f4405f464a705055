package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/a1009580/leasehold/chaos/drill/engine"
)

// markSocket is where a drill of a target hears of marks, for one user.
func markSocket() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("leasehold-drill-%d.sock", os.Getuid()))
}

const markTimeout = 5 * time.Second

func newDrillMark() *cobra.Command {
	var m engine.Mark
	var socket string
	cmd := &cobra.Command{
		Use:   "mark TEXT",
		Short: "Tell the drill of a running deployment that a fault begins, or has ended",
		Long: `Mark writes a line into the report of the drill that runs with --target on this
machine, at this moment. It begins a fault, and ends the one before; with --healed it
only ends it.`,
		Example: "  leasehold drill mark \"cut eu\"\n  leasehold drill mark --healed \"eu is back\"",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 || args[0] == "" {
				return Usagef("say in one argument what you do")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			m.Text = args[0]
			c, err := (&net.Dialer{Timeout: markTimeout}).DialContext(cmd.Context(), "unix", socket)
			if err != nil {
				return fmt.Errorf("no drill of a target runs here: %w", err)
			}
			defer func() { err = errors.Join(err, c.Close()) }()
			if err := c.SetDeadline(time.Now().Add(markTimeout)); err != nil {
				return err
			}
			if err := json.NewEncoder(c).Encode(m); err != nil {
				return err
			}
			var heard bool
			if err := json.NewDecoder(c).Decode(&heard); err != nil || !heard {
				return errors.Join(errors.New("the drill did not take the mark: it is in its baseline or its recovery"), err)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&m.Healed, "healed", false, "the fault has ended")
	cmd.Flags().StringVar(&socket, "socket", markSocket(), "`file` of the drill's socket")
	return cmd
}

// hearMarks takes marks until ctx ends.
func hearMarks(ctx context.Context, socket string, errs func(error)) (<-chan engine.Mark, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("another drill of a target runs, or left its socket (then remove it): %w", err)
	}
	context.AfterFunc(ctx, func() { _ = l.Close() })
	marks := make(chan engine.Mark)
	go func() {
		for ctx.Err() == nil {
			c, err := l.Accept()
			if err != nil {
				return // closed
			}
			if err := takeMark(ctx, c, marks); err != nil {
				errs(err)
			}
		}
	}()
	return marks, nil
}

// takeMark hands one mark on, and answers whether somebody took it.
func takeMark(ctx context.Context, c net.Conn, marks chan<- engine.Mark) (err error) {
	defer func() { err = errors.Join(err, c.Close()) }()
	if err := c.SetDeadline(time.Now().Add(markTimeout)); err != nil {
		return err
	}
	var m engine.Mark
	if err := json.NewDecoder(c).Decode(&m); err != nil {
		return fmt.Errorf("a mark: %w", err)
	}
	waiting, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	heard := false
	select {
	case marks <- m:
		heard = true
	case <-waiting.Done():
	}
	return json.NewEncoder(c).Encode(heard)
}
