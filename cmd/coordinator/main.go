// Command coordinator owns the balances of all quotas and leases tokens to the
// regions.
package main

import (
	"os"
	_ "time/tzdata" // calendar windows must not depend on the zones of the host

	"github.com/a1009580/leasehold/internal/cli"
)

func main() {
	root := cli.NewCoordinator()
	root.AddCommand(cli.NewVersion())
	os.Exit(cli.Main(root))
}
