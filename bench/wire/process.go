package wire

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// process is a server that a benchmark began. It ends with the process that
// began it.
type process struct {
	address string
	cmd     *exec.Cmd
	input   io.Closer
}

// These make a process of this binary a server.
const (
	kindEnv    = "LEASEHOLD_BENCH_SERVE"
	addressEnv = "LEASEHOLD_BENCH_ADDRESS"
	leaderEnv  = "LEASEHOLD_BENCH_COORDINATOR"
)

// startOurs starts this binary again as a server of a kind.
func startOurs(kind, address, coordinator string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(context.Background(), self)
	cmd.Args[0] = os.Args[0]
	cmd.Env = append(os.Environ(), kindEnv+"="+kind, addressEnv+"="+address, leaderEnv+"="+coordinator)
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("wire: the %s server said nothing: %w", kind, err), p.stop())
	}
	p.address = strings.TrimSpace(line)
	return p, nil
}

// startPeer starts another program that listens on a TCP address, and waits until it does.
func startPeer(name string, env []string, address string, args ...string) (*process, error) {
	cmd := exec.CommandContext(context.Background(), name, args...)
	cmd.Env = append(os.Environ(), env...)
	p, err := start(cmd)
	if err != nil {
		return nil, err
	}
	p.address = address
	for deadline := time.Now().Add(20 * time.Second); ; {
		c, err := net.DialTimeout("tcp", address, time.Second)
		if err == nil {
			return p, c.Close()
		}
		if time.Now().After(deadline) {
			return nil, errors.Join(fmt.Errorf("wire: %s does not listen on %s: %w", filepath.Base(name), address, err), p.stop())
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func start(cmd *exec.Cmd) (*process, error) {
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &process{cmd: cmd, input: input}, nil
}

// stop ends the process and waits until it has ended. One of ours ends by itself
// when its input does, for as long as that is worth waiting for.
func (p *process) stop() error {
	err := p.input.Close()
	kill := func() { _ = p.cmd.Process.Kill() } // it may have ended meanwhile
	if p.address == "" || p.cmd.Args[0] != os.Args[0] {
		kill()
	}
	timer := time.AfterFunc(5*time.Second, kill)
	defer timer.Stop()
	var ended *exec.ExitError
	if wait := p.cmd.Wait(); wait != nil && !errors.As(wait, &ended) {
		err = errors.Join(err, wait)
	}
	return err
}

// cpu is the processor time that the process used.
func (p *process) cpu() (time.Duration, error) {
	proc, err := procfs.NewProc(p.cmd.Process.Pid)
	if err != nil {
		return 0, err
	}
	stat, err := proc.Stat()
	if err != nil {
		return 0, err
	}
	return time.Duration(stat.CPUTime() * float64(time.Second)), nil
}

// freeAddress is a TCP address of this machine that nobody listens on.
func freeAddress() (string, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
