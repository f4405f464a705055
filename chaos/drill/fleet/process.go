package fleet

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// Process is one process of a fleet, and those that took its place after it.
// Its methods may be used concurrently.
type Process struct {
	Name  string
	Kind  result.Kind
	Place Place
	// HTTP is where it answers operators.
	HTTP string

	remote bool // it is of a target, and not ours
	binary string
	args   []string
	events chan<- Said

	mu      sync.Mutex
	cmd     *exec.Cmd
	ended   chan struct{} // closed when cmd has ended
	told    bool          // that it ends is the drill's doing
	frozen  bool
	first   int // process id of the first
	starts  int
	crashes []string
	tail    []string
}

// Said is a line of a process's log.
type Said struct {
	At   time.Time // when it was read
	Node string
	Line string
}

// tailLines is how many lines of each process are kept.
const tailLines = 60

// Start starts it, or another one in its place. It must not run.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.runs() {
		return fmt.Errorf("%s runs already", p.Name)
	}
	cmd := exec.CommandContext(context.Background(), p.binary, p.args...)
	cmd.Args[0] = "leasehold"
	cmd.Env = environment(os.Environ())
	// The pipe is ours: were it the command's, waiting for the process would
	// have to wait for its readers.
	out, in, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	if err := p.Place.Start(cmd); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", p.Name, err), in.Close(), out.Close())
	}
	p.cmd, p.told, p.frozen = cmd, false, false
	p.starts++
	if p.first == 0 {
		p.first = cmd.Process.Pid
	}
	p.ended = make(chan struct{})
	go p.read(out)
	go p.wait(cmd, p.ended)
	return errors.Join(in.Close())
}

// environment leaves out what would decide about a process behind the drill's
// back.
func environment(all []string) []string {
	var kept []string
	for _, v := range all {
		if !strings.HasPrefix(v, "LEASEHOLD_") || strings.HasPrefix(v, "LEASEHOLD_MUTANT=") {
			kept = append(kept, v)
		}
	}
	return kept
}

// read keeps what it says until it says no more.
func (p *Process) read(out *os.File) {
	defer out.Close()
	lines := bufio.NewReaderSize(out, 64<<10)
	for {
		line, err := lines.ReadString('\n')
		if line = strings.TrimRight(line, "\n"); line != "" {
			p.mu.Lock()
			p.tail = append(p.tail[max(0, len(p.tail)-tailLines+1):], line)
			p.mu.Unlock()
			p.events <- Said{At: time.Now(), Node: p.Name, Line: line}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				p.events <- Said{At: time.Now(), Node: p.Name, Line: "its log cannot be read: " + err.Error()}
			}
			return
		}
	}
}

// wait notes how it ended.
func (p *Process) wait(cmd *exec.Cmd, ended chan struct{}) {
	err := cmd.Wait()
	p.mu.Lock()
	if !p.told {
		p.crashes = append(p.crashes, fmt.Sprintf("%s ended by itself: %v", p.Name, ending(cmd, err)))
	}
	p.mu.Unlock()
	close(ended)
}

func ending(cmd *exec.Cmd, err error) string {
	if cmd.ProcessState != nil {
		return cmd.ProcessState.String()
	}
	return err.Error()
}

// runs says whether it does. The caller holds mu.
func (p *Process) runs() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Alive says that it runs and is not frozen: that it should answer. Of a process of a
// target that is always expected.
func (p *Process) Alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.remote || p.runs() && !p.frozen && !p.told
}

// Crashes are the times that it ended without being told to.
func (p *Process) Crashes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.crashes...)
}

// Tail is what it said last, of all its lives.
func (p *Process) Tail() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.tail...)
}

// PID is the process id of the first one, and Starts how many there were.
func (p *Process) PID() (pid, starts int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.first, p.starts
}

// signal sends one to this process and no other.
func (p *Process) signal(s syscall.Signal, told bool) (cmd *exec.Cmd, ended chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.runs() {
		return nil, nil, fmt.Errorf("%s does not run", p.Name)
	}
	p.told = p.told || told
	p.frozen = s == syscall.SIGSTOP || p.frozen && s != syscall.SIGCONT
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return nil, nil, fmt.Errorf("%v to %s: %w", s, p.Name, err)
	}
	return p.cmd, p.ended, nil
}

// killTimeout is how long the kernel may take.
const killTimeout = 20 * time.Second

// Kill ends it without a word and waits for that. It returns how it ended.
func (p *Process) Kill() (string, error) {
	cmd, ended, err := p.signal(syscall.SIGKILL, true)
	if err != nil {
		return "", err
	}
	select {
	case <-ended:
		return cmd.ProcessState.String(), nil
	case <-time.After(killTimeout):
		return "", fmt.Errorf("%s does not die", p.Name)
	}
}

// Freeze stops it where it stands, and waits until it stands.
func (p *Process) Freeze(ctx context.Context) error {
	cmd, _, err := p.signal(syscall.SIGSTOP, false)
	if err != nil {
		return err
	}
	for !stopped(cmd.Process.Pid) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s does not stop: %w", p.Name, ctx.Err())
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

// Frozen says whether the kernel says that it stands still.
func (p *Process) Frozen() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs() && stopped(p.cmd.Process.Pid)
}

// Thaw lets it go on.
func (p *Process) Thaw() error {
	_, _, err := p.signal(syscall.SIGCONT, false)
	return err
}

// Terminate asks it to end and waits until it has. It returns how it ended.
func (p *Process) Terminate(ctx context.Context) (string, error) {
	cmd, ended, err := p.signal(syscall.SIGTERM, true)
	if err != nil {
		return "", err
	}
	select {
	case <-ended:
		return cmd.ProcessState.String(), nil
	case <-ctx.Done():
		return "", fmt.Errorf("%s does not end: %w", p.Name, ctx.Err())
	}
}

// Hangup has it read its files again.
func (p *Process) Hangup() error {
	_, _, err := p.signal(syscall.SIGHUP, false)
	return err
}
