//go:build !mutants

package etcdstore

// mutated says that a law is broken on purpose at this place. In a build that
// ships it is constantly false and costs nothing.
func mutated(string) bool { return false }
