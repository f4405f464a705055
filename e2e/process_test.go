package e2e

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// soon is how long what must happen may take on a machine that is busy with
// other things.
const soon = 30 * time.Second

// process is a child of the test, which ends with it.
type process struct {
	t    *testing.T
	name string
	path string // of the program
	args []string
	cmd  *exec.Cmd
	log  *output       // all that it said
	out  *output       // of that, what scripts read
	done chan struct{} // closed when it has ended
}

// output is what a process said.
type output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start runs the binary with arguments.
func start(t *testing.T, name string, args ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, path: binary, args: args, log: &output{}, out: &output{}}
	p.launch()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s said at last:\n%s", p.name, tail(p.log.String(), 40))
		}
	})
	return p
}

// launch starts the process, which must not run.
func (p *process) launch() {
	p.t.Helper()
	p.cmd = exec.Command(p.path, p.args...)
	p.cmd.Stdout, p.cmd.Stderr = io.MultiWriter(p.log, p.out), p.log
	// The tests' own environment must not decide about a process.
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "LEASEHOLD_") {
			p.cmd.Env = append(p.cmd.Env, v)
		}
	}
	require.NoError(p.t, p.cmd.Start())
	done := make(chan struct{})
	p.done = done
	cmd := p.cmd
	go func() {
		cmd.Wait() //nolint:errcheck // the state tells how it ended
		close(done)
	}()
}

// signal sends a signal to this process and no other.
func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); !errors.Is(err, os.ErrProcessDone) {
		require.NoError(p.t, err)
	}
}

// kill ends the process without a word, if it runs.
func (p *process) kill() {
	select {
	case <-p.done:
	default:
		p.signal(syscall.SIGKILL)
		<-p.done
	}
}

// restart starts the killed process again, with the same arguments.
func (p *process) restart() {
	p.t.Helper()
	p.kill()
	p.launch()
}

// exit waits until the process has ended by itself and returns its code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(soon):
		require.FailNow(p.t, p.name+" does not end")
	}
	return p.cmd.ProcessState.ExitCode()
}

// terminate asks the process to end, and returns its code.
func (p *process) terminate() int {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	return p.exit()
}

// tail returns the last lines of a text.
func tail(s string, lines int) string {
	all := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// Ports for processes lie below those that systems give to outgoing connections.
// One of these could take the port of a process while it is down, or, dialing
// again and again, even connect to itself.
const (
	firstPort = 20_000
	portCount = 10_000
)

// ports returns addresses on which nobody listens at the moment.
func ports(t *testing.T, n int) []string {
	t.Helper()
	var addresses []string
	var listeners []net.Listener
	for tries := 0; len(addresses) < n; tries++ { // all of them open at once, so that none comes twice
		require.Less(t, tries, 1000, "no port is free")
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+rand.IntN(portCount)))
		if err != nil {
			continue
		}
		addresses, listeners = append(addresses, l.Addr().String()), append(listeners, l)
	}
	for _, l := range listeners {
		require.NoError(t, l.Close())
	}
	return addresses
}

// eventually waits for a condition. It asks often, and each question may take a
// while.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(soon)
	for !condition() {
		if time.Now().After(deadline) {
			require.FailNow(t, "waited in vain: "+what)
		}
		pause(20 * time.Millisecond)
	}
}

// pause keeps a loop that asks from using up a core.
func pause(d time.Duration) { <-time.After(d) }
