// Package lease moves tokens from one coordinator to many holders without ever
// letting their sum exceed the limit.
//
// A Ledger owns the balance of every bucket and grants tokens to holders; a
// Holder spends them from its own memory; a Store keeps what must outlive a
// coordinator. All three speak in the message types of this package, and every
// law that they keep is numbered as in docs/design.md.
//
// The package is pure: no I/O, no goroutines, no clocks. Time comes in as a
// Moment or as a time.Duration since an arbitrary start, tokens are int64. The
// shells (internal/coordinator, limiter) move the messages, own the clocks and
// count; the simulation in chaos moves the same messages through a hostile
// network. How many tokens each holder should have is not decided here: a
// Ledger asks its Allocator (package reconcile), and keeps the laws whatever
// the answer.
package lease
