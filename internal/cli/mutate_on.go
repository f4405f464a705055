//go:build mutants

package cli

import (
	"os"

	"github.com/a1009580/leasehold/internal/etcdstore"
	"github.com/a1009580/leasehold/lease"
)

// breakLaw breaks the law that LEASEHOLD_MUTANT names, so that drills can show
// that they notice (docs/mutants.md).
func breakLaw() {
	name := os.Getenv("LEASEHOLD_MUTANT")
	lease.SetMutant(name)
	etcdstore.SetMutant(name)
}
