// Package local measures decisions that are made in the process that asks: ours
// beside those of the libraries that are used in its place, and beside the
// least that any could cost.
//
// Every benchmark runs its decisions on all of GOMAXPROCS: -cpu=1,2 says what
// cores cost each other. A figure is the time for one decision.
package local
