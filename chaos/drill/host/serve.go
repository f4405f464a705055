package host

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"

	"github.com/a1009580/leasehold/chaos/drill/engine"
	"github.com/a1009580/leasehold/chaos/drill/fleet"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/sandbox"
)

// Serve is what the process of a drill does: it reads a job from in, runs it, and
// writes to out what came of it. The end of in stops the drill.
func Serve(in io.Reader, out io.Writer, logs io.Writer) error {
	input := bufio.NewReader(in)
	var j Job
	line, err := input.ReadBytes('\n')
	if err != nil {
		return fmt.Errorf("no job: %w", err)
	}
	if err := json.Unmarshal(line, &j); err != nil {
		return fmt.Errorf("the job: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, input)
		stop()
	}()
	t := &teller{to: json.NewEncoder(out)}
	r, err := serve(ctx, &j, t, logs)
	if err != nil {
		return t.tell(message{Error: err.Error(), Unavailable: errors.Is(err, ErrUnavailable)})
	}
	return errors.Join(t.tell(message{Result: r}), t.err)
}

// teller writes messages, one at a time.
type teller struct {
	mu  sync.Mutex
	to  *json.Encoder
	err error
}

func (t *teller) tell(m message) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.to.Encode(m)
	if t.err == nil {
		t.err = err
	}
	return err
}

func serve(ctx context.Context, j *Job, t *teller, logs io.Writer) (*result.Result, error) {
	s, err := j.Scenario()
	if err != nil {
		return nil, err
	}
	o := engine.Options{Scenario: s, Log: slog.New(slog.DiscardHandler), Progress: func(e result.Event) {
		// An error is told when the result is.
		_ = t.tell(message{Event: &e})
	}}
	if j.Verbose {
		o.Log = slog.New(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	switch j.Mode {
	case Namespaces:
		box, err := sandbox.New()
		if err != nil {
			return nil, err
		}
		o.Network, o.Binary = fleet.Namespaces(box), "/proc/self/exe"
	default:
		dir, err := os.Getwd()
		if err != nil {
			return nil, err
		}
		o.Network = fleet.Loopback(dir)
		if o.Binary, err = os.Executable(); err != nil {
			return nil, err
		}
	}
	return engine.Run(ctx, o)
}
