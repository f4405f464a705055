package host

import (
	"os/exec"
	"syscall"
)

// die has a command killed when the thread ends that starts it.
func die(cmd *exec.Cmd) { cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL }
