// Package explore visits every state that a tiny world can reach within some
// number of steps, on the code that ships.
//
// A World is one or two leaders, two holders, one bucket of a few tokens, a
// store and the messages in flight. Whatever can happen next is an action: any
// message in flight is delivered, delivered and kept, or lost; a request comes;
// a holder or a ledger ticks; a transaction is written, refused, or written
// with the answer lost; a process crashes; another leader takes over while the
// old one lives on or not; time goes on to just before or just past the next
// deadline. Where package chaos draws one future out of many from a seed, a
// Search tries all of them, breadth first: what it does not find within a depth
// is not there within that depth.
//
// Worlds share what an action does not touch, and are recognised by 128 bits of
// hash over everything that their future depends on (lease.Frame), so that a
// state is expanded once. The frontier is kept as paths, not as worlds.
//
// Every state is judged by judge.go, which shares no code with what it judges.
package explore
