//go:build !mutants

package cli

// breakLaw does nothing: this build keeps all laws.
func breakLaw() {}
