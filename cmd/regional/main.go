// Command regional runs the limiter of one region.
package main

import (
	"os"
	_ "time/tzdata" // calendar windows must not depend on the host's zones

	"github.com/a1009580/leasehold/internal/cli"
)

func main() {
	root := cli.NewRegional()
	root.AddCommand(cli.NewVersion())
	os.Exit(cli.Main(root))
}
