package fleet

import (
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// stopped asks the kernel whether a child of this process stands still. It needs
// no /proc, whose process ids may be those of another namespace.
func stopped(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo == int32(unix.SIGCHLD)
}

// starter starts commands on one thread that never ends: the kernel kills them
// when that thread does, which is with this process.
type starter chan func()

func newStarter() starter {
	s := make(starter)
	go func() {
		runtime.LockOSThread()
		for f := range s {
			f()
		}
	}()
	return s
}

func (s starter) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	done := make(chan error)
	s <- func() { done <- cmd.Start() }
	return <-done
}
