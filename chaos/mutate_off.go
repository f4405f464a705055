//go:build !mutants

package chaos

// mutated says that the world itself breaks a law on purpose; see
// lease/mutate_on.go.
func mutated(string) bool { return false }

// SetMutant returns false: this build breaks no law.
func SetMutant(string) bool { return false }
