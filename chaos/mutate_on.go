//go:build mutants

package chaos

import "github.com/a1009580/leasehold/lease"

// worldMutant is the law that the shells of this world break on purpose.
var worldMutant string

// mutated says that the world itself breaks a law on purpose; see
// lease/mutate_on.go.
func mutated(name string) bool { return worldMutant == name }

// SetMutant breaks one law on purpose, or none; it returns true because this
// build can.
func SetMutant(name string) bool {
	worldMutant = name
	lease.SetMutant(name)
	return true
}
