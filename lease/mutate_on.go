//go:build mutants

package lease

// mutant is the law that this build breaks on purpose, by the name of its
// place; the simulation in chaos must notice every one (docs/mutants.md).
var mutant string

func mutated(name string) bool { return mutant == name }

// SetMutant breaks one law, or none. It exists only in builds for the
// simulation and is not safe for concurrent use.
func SetMutant(name string) { mutant = name }
