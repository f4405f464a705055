// Package chaos is a hostile world for the pure code, and the judges of what
// happens in it.
//
// A World is one run: a seed becomes a Config (Draw), which is plain data, and a
// Config becomes the same events every time. One goroutine pops them off a heap
// ordered by simulated time; nothing here reads a clock, starts a goroutine or
// ranges over a map where order matters. The coordinators run lease.Ledger and
// the regional processes lease.Holder, lease.Decide and package reconcile,
// exactly as they ship; the store, the election, the network, the clocks and
// the clients are simulated, and each of them can fail in the ways of the plan.
//
// The judges share no code with what they judge. A meter for each bucket knows
// in one pass the worst interval of all (meter.go); a register follows every
// account from its first grant through all claims (register.go); a census
// compares what is out there with what the newest ledger believes (census.go);
// Ledger.Check is called after every event of a ledger.
//
// Swarm (swarm.go) plays many seeds; Shrink makes a failure a short story.
// Command chaos/cmd/sim is its front; docs/overshoot.md says what is proved.
package chaos
