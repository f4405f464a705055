// Package mutants holds no code but tests: with the build tag mutants they break
// laws in real processes, and want the drills to notice.
package mutants
