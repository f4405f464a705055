package lab

// system keeps a limit: ours, the ideal, or a model of what others do. It
// belongs to one world, whose events it may schedule.
type system interface {
	// ask decides a request now or later, by one call of world.admit or deny.
	ask(q *Request)
	// pool is what lies at the center and belongs to no region, and how much
	// was ever taken out of it.
	pool() (level, taken int64)
	// held is what a region could spend at once without asking anybody.
	held(region int) int64
}

// Model is a way of keeping a limit.
type Model struct {
	Name string
	// Like says by what mechanism it works, and where that is described.
	Like  string
	build func(w *world) system
}

// Ours is the name of the model that runs the shipping code.
const Ours = "leasehold"

// Models are all that stand beside each other in a table. The ideal is not
// among them: the others are measured against it.
func Models() []Model {
	return []Model{
		{Ours, "this repository: batches leased by demand, recalled and renewed", newOurs(Terms{})},
		{"static 1/k", "every region keeps an equal part of rate and burst for itself", newStatic},
		{"central per request", "every request asks the center and waits for its answer", newCentral},
		{"fixed batches", "a region fetches batches of one size ahead of need, and keeps them (hi-lo)", newBatches},
		{"5 s refresh, 300 s leases", "like Doorman: rates by proportional share (youtube/doorman, doc/algorithms.md)", newRefresh},
		{"10 s requests with trickle", "like CockroachDB's distributed token bucket (cockroachdb/cockroach, docs/RFCS/20210604_distributed_token_bucket.md)", newTrickle},
		{"1 s controller", "a controller sets every region's rate each second by max-min", newController},
		{"100 ms optimistic reports", "like Gubernator's GLOBAL: decide by a copy, report hits later (mailgun/gubernator, docs/architecture.md)", newOptimistic},
		{"50 ms gossip shares", "like distributed rate limiting: demand by gossip, rates in proportion (Raghavan et al., SIGCOMM 2007)", newGossip},
	}
}

// FindModel returns the model of a name.
func FindModel(name string) (Model, bool) {
	for _, m := range Models() {
		if m.Name == name {
			return m, true
		}
	}
	return Model{}, false
}
