// Package lab is the laboratory of rebalancing: it measures how well a limit is
// used when demand is spread over regions and moves between them, and at what
// price in messages.
//
// A run plays one list of requests, a [Trace], against one way of keeping the
// limit, a system, in virtual time. Ours is the shipping code: lease.Ledger,
// lease.Holder and package reconcile, joined by a simulated network. Beside it
// stand an ideal bucket that all regions share without any delay, and small
// models of what others do, each named by its mechanism. A model follows its
// public description, says what it leaves out, and is no measurement of a product.
//
// What is measured is defined where it is computed: [Agedness] false denials,
// [Overshoot], [Fairness], [Settling] and [Exhaust].
//
// Nothing here fails but what the scenario says: messages are lost, and nothing
// repairs that but the system itself. Faults and proofs are package chaos.
package lab
