package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/sandbox"
)

// Run runs a job in a process of its own and returns its result, without the
// parts of the reproduction block that the caller knows. When ctx ends, the drill
// is stopped, and its result says so. progress may be nil. Beside a result there can
// be an error, when something of the drill is left.
func Run(ctx context.Context, j Job, progress func(result.Event)) (*result.Result, error) {
	type outcome struct {
		result *result.Result
		err    error
	}
	done := make(chan outcome)
	go func() {
		// The child is killed when the thread ends that started it: this one lives
		// until the child is gone, and is not used again.
		runtime.LockOSThread()
		var o outcome
		o.result, o.err = run(ctx, j, progress)
		done <- o
	}()
	o := <-done
	return o.result, o.err
}

func run(ctx context.Context, j Job, progress func(result.Event)) (r *result.Result, err error) {
	cmd, err := command(j.Mode)
	if err != nil {
		return nil, err
	}
	if j.Mode == Proxies {
		dir, done, failed := scratch()
		if failed != nil {
			return nil, failed
		}
		defer func() { err = errors.Join(err, done()) }()
		cmd.Dir = dir
	}
	cmd.Args[0] = "leasehold"
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.ExtraFiles = []*os.File{in}
	err = cmd.Start()
	if closing := in.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, fmt.Errorf("start the process of the drill: %w", sandbox.Why(err))
	}
	stop := context.AfterFunc(ctx, func() { _ = stdin.Close() }) // it stops when its input ends
	defer stop()
	if err := json.NewEncoder(stdin).Encode(j); err != nil && ctx.Err() == nil {
		return nil, errors.Join(fmt.Errorf("tell the process of the drill what to do: %w", err), kill(cmd))
	}
	r, err = hear(out, progress)
	_ = stdin.Close()
	if waited := cmd.Wait(); r == nil && err == nil {
		err = fmt.Errorf("the process of the drill ended without a result: %w", waited)
	}
	return r, err
}

func kill(cmd *exec.Cmd) error {
	return errors.Join(cmd.Process.Kill(), cmd.Wait())
}

// command is this program again, in the given mode.
func command(mode string) (*exec.Cmd, error) {
	switch mode {
	case Namespaces:
		return sandbox.Command(Command), nil
	case Proxies:
		exe, err := os.Executable()
		if err != nil {
			return nil, err
		}
		cmd := exec.CommandContext(context.Background(), exe, Command)
		// Signals of the terminal are for us: we stop the drill in order.
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		die(cmd)
		return cmd, nil
	}
	return nil, fmt.Errorf("unknown mode %q: must be %s or %s", mode, Namespaces, Proxies)
}

// hear takes what the process of the drill tells until it tells no more.
func hear(from io.Reader, progress func(result.Event)) (*result.Result, error) {
	d := json.NewDecoder(from)
	for {
		var m message
		switch err := d.Decode(&m); {
		case errors.Is(err, io.EOF):
			return nil, nil //nolint:nilnil // the caller tells how the process ended
		case err != nil:
			return nil, fmt.Errorf("the process of the drill: %w", err)
		case m.Event != nil && progress != nil:
			progress(*m.Event)
		case m.Unavailable:
			return nil, fmt.Errorf("%w: %s", ErrUnavailable, m.Error)
		case m.Error != "":
			return nil, errors.New(m.Error)
		case m.Result != nil:
			return m.Result, nil
		}
	}
}
