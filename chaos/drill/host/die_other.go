//go:build !linux

package host

import "os/exec"

// die does nothing: here a command notices that its input ended.
func die(*exec.Cmd) {}
