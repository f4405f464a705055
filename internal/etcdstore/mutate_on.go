//go:build mutants

package etcdstore

// mutant is the law that this build breaks on purpose, by the name of its place;
// drills with real processes must notice it (docs/mutants.md).
var mutant string

func mutated(name string) bool { return mutant == name }

// SetMutant breaks one law, or none. It exists only in builds for drills, and must
// be called before anything else of the package.
func SetMutant(name string) { mutant = name }
