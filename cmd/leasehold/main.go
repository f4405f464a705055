// Command leasehold is the project in one binary: the demo, the tools, and, out
// of sight, the processes themselves.
package main

import (
	"os"
	_ "time/tzdata" // calendar windows must not depend on the host's zones

	"github.com/a1009580/leasehold/internal/cli"
)

func main() {
	os.Exit(cli.Main(cli.NewRoot()))
}
