// Package e2e tests real processes: binaries that are built once, started on
// free ports, killed, stopped and restarted, with clients that ask for more than
// the limit the whole time. What they admit is judged by what the clients saw
// (package chaos/judge), never by what the processes say of themselves.
//
// Nothing here asserts how fast something is: use of the budget is printed. Every
// wait is for a condition, with a deadline.
package e2e

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// binary is the one that every process is started from.
var binary string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "leasehold-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		return 1
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
		}
	}()
	binary = filepath.Join(dir, "leasehold")
	build := exec.Command("go", "build", "-o", binary, "../cmd/leasehold")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "e2e: build:", err)
		return 1
	}
	return m.Run()
}
