package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/lease/memstore"
)

type (
	getFunc    = func(context.Context, []string) ([]lease.Entry, int64, error)
	scanFunc   = func(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, int64, error)
	commitFunc = func(context.Context, lease.LeaderKey, []lease.Write) (int64, error)
)

func mutants() []mutant {
	return slices.Concat(commitMutants(), readMutants(), fenceMutants(), electionMutants(), concurrencyMutants())
}

// onGet, onScan and onCommit replace one method of the store.
func onGet(f func(*memstore.Store) getFunc) func(*Harness, *memstore.Store) {
	return func(h *Harness, s *memstore.Store) { h.Store = broken{Store: s, get: f(s)} }
}

func onScan(f func(*memstore.Store) scanFunc) func(*Harness, *memstore.Store) {
	return func(h *Harness, s *memstore.Store) { h.Store = broken{Store: s, scan: f(s)} }
}

func onCommit(f func(*memstore.Store) commitFunc) func(*Harness, *memstore.Store) {
	return func(h *Harness, s *memstore.Store) { h.Store = broken{Store: s, commit: f(s)} }
}

// rewrite changes every write before it is made.
func rewrite(f func(*lease.Write)) func(*Harness, *memstore.Store) {
	return onCommit(func(s *memstore.Store) commitFunc {
		return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
			writes = slices.Clone(writes)
			for i := range writes {
				f(&writes[i])
			}
			return s.Commit(ctx, leader, writes)
		}
	})
}

// swap returns another error in the place of one.
func swap(from, to error) func(*Harness, *memstore.Store) {
	return onCommit(func(s *memstore.Store) commitFunc {
		return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
			revision, err := s.Commit(ctx, leader, writes)
			if errors.Is(err, from) {
				return 1, to
			}
			return revision, err
		}
	})
}

// revisions returns what the store holds of the writes' keys.
func revisions(ctx context.Context, s *memstore.Store, writes []lease.Write) map[string]int64 {
	have := map[string]int64{}
	for _, w := range writes {
		entries, _, err := s.Get(ctx, []string{w.Key})
		if err == nil && len(entries) == 1 {
			have[w.Key] = entries[0].Revision
		}
	}
	return have
}

func commitMutants() []mutant {
	return []mutant{
		{name: "expectations are ignored", caught: "commit/expect a revision replaces that one only", mutate: onCommit(func(s *memstore.Store) commitFunc {
			return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
				have := revisions(ctx, s, writes)
				writes = slices.Clone(writes)
				for i := range writes {
					writes[i].Expect = have[writes[i].Key]
				}
				return s.Commit(ctx, leader, writes)
			}
		})},
		{name: "expect 0 does not ask", caught: "commit/expect 0 creates and never replaces", mutate: onCommit(func(s *memstore.Store) commitFunc {
			return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
				have := revisions(ctx, s, writes)
				writes = slices.Clone(writes)
				for i := range writes {
					if writes[i].Expect == 0 {
						writes[i].Expect = have[writes[i].Key]
					}
				}
				return s.Commit(ctx, leader, writes)
			}
		})},
		{name: "a deletion leaves an empty entry", caught: "commit/a nil value deletes", mutate: rewrite(func(w *lease.Write) {
			if w.Value == nil {
				w.Value = []byte{}
			}
		})},
		{name: "an empty value deletes", caught: "commit/an empty value is a value", mutate: rewrite(func(w *lease.Write) {
			if len(w.Value) == 0 {
				w.Value = nil
			}
		})},
		{name: "what fits is applied", caught: "commit/all or nothing", mutate: onCommit(func(s *memstore.Store) commitFunc {
			return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
				var last int64
				var failed error
				for _, w := range writes {
					revision, err := s.Commit(ctx, leader, []lease.Write{w})
					if err != nil {
						failed = err
					}
					last = max(last, revision)
				}
				return last, failed
			}
		})},
		{name: "the result is good whatever it was", caught: "commit/all or nothing", mutate: swap(lease.ErrConflict, nil)},
		{name: "success is reported as an unknown outcome", caught: "commit/expect 0 creates and never replaces", mutate: onCommit(func(s *memstore.Store) commitFunc {
			return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
				if revision, err := s.Commit(ctx, leader, writes); err != nil {
					return revision, err
				}
				return 0, lease.ErrUnknown
			}
		})},
		{name: "an attempt is repeated", caught: "commit/expect 0 creates and never replaces", mutate: onCommit(func(s *memstore.Store) commitFunc {
			return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
				_, _ = s.Commit(ctx, leader, writes) // the answer is lost
				return s.Commit(ctx, leader, writes)
			}
		})},
		{name: "another revision is returned", caught: "commit/one revision for all writes", mutate: onCommit(func(s *memstore.Store) commitFunc {
			return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
				revision, err := s.Commit(ctx, leader, writes)
				return revision + 1, err
			}
		})},
		{name: "the last write of a key wins", caught: "commit/a key written twice conflicts", mutate: onCommit(func(s *memstore.Store) commitFunc {
			return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
				last := map[string]lease.Write{}
				for _, w := range writes {
					last[w.Key] = w
				}
				var kept []lease.Write
				for _, w := range last {
					kept = append(kept, w)
				}
				return s.Commit(ctx, leader, kept)
			}
		})},
		{name: "nothing to write, nothing to ask", caught: "commit/no writes ask for the leader", mutate: onCommit(func(s *memstore.Store) commitFunc {
			return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
				if len(writes) == 0 {
					return 1, nil
				}
				return s.Commit(ctx, leader, writes)
			}
		})},
		{name: "what is too much is left out", caught: "commit/as many writes as allowed and one more", mutate: onCommit(func(s *memstore.Store) commitFunc {
			return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
				return s.Commit(ctx, leader, writes[:min(len(writes), lease.MaxTxnWrites)])
			}
		})},
		{name: "fewer writes than allowed", caught: "commit/as many writes as allowed and one more", mutate: onCommit(func(s *memstore.Store) commitFunc {
			return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
				if len(writes) > 100 {
					return 0, lease.ErrTooLarge
				}
				return s.Commit(ctx, leader, writes)
			}
		})},
		{name: "keys end at a zero byte", caught: "commit/any bytes in keys and values", mutate: rewrite(func(w *lease.Write) {
			if i := slices.Index([]byte(w.Key), 0); i >= 0 {
				w.Key = w.Key[:i]
			}
		})},
		{name: "reads give the store's own slice away", caught: "commit/values are copied", mutate: func(h *Harness, s *memstore.Store) {
			// Every reader of one revision of an entry gets the same slice.
			var mu sync.Mutex
			shared := map[int64][]byte{}
			share := func(entries []lease.Entry) {
				mu.Lock()
				defer mu.Unlock()
				for i, e := range entries {
					if _, ok := shared[e.Revision]; !ok {
						shared[e.Revision] = e.Value
					}
					entries[i].Value = shared[e.Revision]
				}
			}
			h.Store = broken{
				Store: s,
				get: func(ctx context.Context, keys []string) ([]lease.Entry, int64, error) {
					entries, revision, err := s.Get(ctx, keys)
					share(entries)
					return entries, revision, err
				},
				scan: func(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, int64, error) {
					entries, revision, err := s.Scan(ctx, prefix, after, limit)
					share(entries)
					return entries, revision, err
				},
			}
		}},
		{name: "the context is not asked before a write", caught: "commit/an ended context writes nothing", mutate: onCommit(func(s *memstore.Store) commitFunc {
			return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
				revision, err := s.Commit(context.WithoutCancel(ctx), leader, writes)
				if ctx.Err() != nil {
					return 0, lease.ErrUnavailable
				}
				return revision, err
			}
		})},
	}
}

func readMutants() []mutant {
	return []mutant{
		{name: "a read is one write behind", caught: "commit/expect 0 creates and never replaces", mutate: func(h *Harness, s *memstore.Store) {
			stale := s.Snapshot()
			copied := memstore.New(memstore.Options{Now: func() time.Duration { return 0 }})
			h.Store = broken{
				Store: s,
				get: func(ctx context.Context, keys []string) ([]lease.Entry, int64, error) {
					copied.Restore(stale)
					return copied.Get(ctx, keys)
				},
				commit: func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
					stale = s.Snapshot()
					return s.Commit(ctx, leader, writes)
				},
			}
		}},
		{name: "an absent entry is returned as an empty one", caught: "read/get returns those that are there", mutate: onGet(func(s *memstore.Store) getFunc {
			return func(ctx context.Context, keys []string) ([]lease.Entry, int64, error) {
				entries, revision, err := s.Get(ctx, keys)
				for _, key := range keys {
					if !slices.ContainsFunc(entries, func(e lease.Entry) bool { return e.Key == key }) {
						entries = append(entries, lease.Entry{Key: key, Value: []byte{}, Revision: 1})
					}
				}
				return entries, revision, err
			}
		})},
		{name: "keys above a transaction's limit are left out", caught: "read/get takes more keys than a transaction", mutate: onGet(func(s *memstore.Store) getFunc {
			return func(ctx context.Context, keys []string) ([]lease.Entry, int64, error) {
				return s.Get(ctx, keys[:min(len(keys), 128)])
			}
		})},
		{name: "after is part of the page", caught: "read/scan pages in order", mutate: onScan(func(s *memstore.Store) scanFunc {
			return func(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, int64, error) {
				found, _, err := s.Get(ctx, []string{after})
				if err != nil || len(found) == 0 || len(after) < len(prefix) || after[:len(prefix)] != prefix {
					return s.Scan(ctx, prefix, after, limit)
				}
				entries, revision, err := s.Scan(ctx, prefix, after, limit-1)
				return append(found, entries...), revision, err
			}
		})},
		{name: "a prefix of 0xff has no end", caught: "read/scan pages in order", mutate: onScan(func(s *memstore.Store) scanFunc {
			return func(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, int64, error) {
				if prefix != "" && prefix[len(prefix)-1] == 0xff {
					return s.Scan(ctx, "", max(after, prefix[:len(prefix)-1]+"\xfe"), limit)
				}
				return s.Scan(ctx, prefix, after, limit)
			}
		})},
		{name: "a page is in no order", caught: "read/scan pages in order", mutate: onScan(func(s *memstore.Store) scanFunc {
			return func(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, int64, error) {
				entries, revision, err := s.Scan(ctx, prefix, after, limit)
				slices.Reverse(entries)
				return entries, revision, err
			}
		})},
		{name: "a limit of 0 is none", caught: "read/a limit below 1 reads none", mutate: onScan(func(s *memstore.Store) scanFunc {
			return func(ctx context.Context, prefix, after string, limit int) ([]lease.Entry, int64, error) {
				if limit == 0 {
					limit = 1 << 30
				}
				return s.Scan(ctx, prefix, after, limit)
			}
		})},
		{name: "the revision is that of what was found", caught: "read/the revision never falls and rises with every write", mutate: onGet(func(s *memstore.Store) getFunc {
			return func(ctx context.Context, keys []string) ([]lease.Entry, int64, error) {
				entries, _, err := s.Get(ctx, keys)
				var revision int64
				for _, e := range entries {
					revision = max(revision, e.Revision)
				}
				return entries, revision, err
			}
		})},
		{name: "the context is not asked before a read", caught: "read/an ended context reads nothing", mutate: onGet(func(s *memstore.Store) getFunc {
			return func(ctx context.Context, keys []string) ([]lease.Entry, int64, error) {
				return s.Get(context.WithoutCancel(ctx), keys)
			}
		})},
	}
}

// forced makes the writes if their revisions hold, whoever leads.
func forced(ctx context.Context, s *memstore.Store, writes []lease.Write) (int64, error) {
	have := revisions(ctx, s, writes)
	for _, w := range writes {
		if have[w.Key] != w.Expect {
			return 0, lease.ErrConflict
		}
	}
	return s.Force(writes), nil
}

func fenceMutants() []mutant {
	unguarded := onCommit(func(s *memstore.Store) commitFunc {
		return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
			if leader.Key == "" || leader.Key == "nobody" {
				return s.Commit(ctx, leader, writes)
			}
			return forced(ctx, s, writes)
		}
	})
	return []mutant{
		{name: "the zero key compares equal to no key", caught: "fence/no key, no transaction", mutate: onCommit(func(s *memstore.Store) commitFunc {
			return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
				if leader.Revision == 0 {
					return forced(ctx, s, writes)
				}
				return s.Commit(ctx, leader, writes)
			}
		})},
		{name: "the guard compares names", caught: "fence/a name alone is no key", mutate: func(h *Harness, s *memstore.Store) {
			var mu sync.Mutex
			byName := map[string]lease.LeaderKey{}
			everyLeadership(h, func(l lease.Leadership) brokenLeadership {
				mu.Lock()
				defer mu.Unlock()
				byName[l.Key().Key] = l.Key()
				return brokenLeadership{}
			})
			h.Store = broken{Store: s, commit: func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
				mu.Lock()
				known := byName[leader.Key]
				mu.Unlock()
				return s.Commit(ctx, known, writes)
			}}
		}},
		{name: "no guard, deleted key", caught: "fence/a deleted key", mutate: unguarded},
		{name: "no guard, former leader", caught: "fence/a former leader", mutate: unguarded},
		{name: "fenced is called a conflict", caught: "fence/fenced goes before conflict", mutate: swap(lease.ErrFenced, lease.ErrConflict)},
	}
}

func electionMutants() []mutant {
	never := func(context.Context) error { return nil }
	localResign := func(h *Harness, _ *memstore.Store) {
		everyLeadership(h, func(lease.Leadership) brokenLeadership { return brokenLeadership{resign: never} })
	}
	return []mutant{
		{name: "the first leader is remembered for ever", caught: "election/leader is who campaigned", mutate: func(h *Harness, s *memstore.Store) {
			var first atomic.Value
			h.Elector = brokenElector{Elector: s, leader: func(ctx context.Context) (string, bool, error) {
				name, ok, err := s.Leader(ctx)
				if ok {
					first.CompareAndSwap(nil, name)
				}
				if known, is := first.Load().(string); is {
					return known, true, nil
				}
				return name, ok, err
			}}
		}},
		{name: "the last one to stand is elected first", caught: "election/in the order of standing", hangs: true, mutate: lastFirst},
		{name: "resigning leaves the key", caught: "election/a standby takes over at once after a resignation", hangs: true, mutate: localResign},
		{name: "a lease never ends", caught: "election/a standby takes over after the lease ended", hangs: true, mutate: func(h *Harness, _ *memstore.Store) {
			h.Elapse = func(time.Duration) {}
		}},
		{name: "proving does not renew", caught: "election/proving keeps the leadership", mutate: func(h *Harness, _ *memstore.Store) {
			everyLeadership(h, func(lease.Leadership) brokenLeadership { return brokenLeadership{prove: never} })
		}},
		{name: "proving only renews the lease", caught: "election/a deleted key is noticed while the lease lives", mutate: func(h *Harness, _ *memstore.Store) {
			everyLeadership(h, func(l lease.Leadership) brokenLeadership {
				return brokenLeadership{prove: func(ctx context.Context) error {
					_ = l.Prove(ctx)
					return nil
				}}
			})
		}},
		{name: "a lost candidacy waits for ever", caught: "election/a lost candidacy stands again", hangs: true, mutate: func(h *Harness, s *memstore.Store) {
			h.Elector = brokenElector{Elector: s, campaign: zombie(s)}
		}},
		{name: "a lost candidacy believes that it leads", caught: "election/no leadership without a key", mutate: func(h *Harness, s *memstore.Store) {
			h.Elector = brokenElector{Elector: s, campaign: phantom(s)}
		}},
		{name: "a campaign outlives its context", caught: "election/a campaign ends with its context", hangs: true, mutate: func(h *Harness, s *memstore.Store) {
			h.Elector = brokenElector{Elector: s, campaign: func(ctx context.Context, name string) (lease.Leadership, error) {
				deaf, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
				defer cancel()
				return s.Campaign(deaf, name)
			}}
		}},
		{name: "resigning twice ends the successor's leadership", caught: "election/resigning twice", mutate: func(h *Harness, s *memstore.Store) {
			everyLeadership(h, func(lease.Leadership) brokenLeadership {
				return brokenLeadership{resign: func(context.Context) error { s.DeleteLeader(); return nil }}
			})
		}},
		{name: "a resignation that failed is never tried again", caught: "election/a resignation that failed is tried again", hangs: true, mutate: func(h *Harness, _ *memstore.Store) {
			everyLeadership(h, func(l lease.Leadership) brokenLeadership {
				var once atomic.Bool
				return brokenLeadership{resign: func(ctx context.Context) error {
					if !once.CompareAndSwap(false, true) {
						return nil
					}
					return l.Resign(ctx)
				}}
			})
		}},
		{name: "what did not answer is taken for lost", caught: "election/an ended context proves nothing", mutate: func(h *Harness, _ *memstore.Store) {
			everyLeadership(h, func(l lease.Leadership) brokenLeadership {
				return brokenLeadership{prove: func(ctx context.Context) error {
					if l.Prove(ctx) != nil {
						return lease.ErrFenced
					}
					return nil
				}}
			})
		}},
	}
}

// lastFirst lets each newcomer go ahead of those who wait.
func lastFirst(h *Harness, s *memstore.Store) {
	h.Elector = brokenElector{Elector: s, campaign: func(ctx context.Context, name string) (lease.Leadership, error) {
		for ctx.Err() == nil {
			standing := s.Standing()
			c := s.Stand(name)
			if len(standing) > 1 && name == "c" {
				_ = s.EndSession(standing[1]) // who then stands again behind this one
			}
			for ctx.Err() == nil {
				if l, ok := c.Elected(); ok {
					return l, nil
				}
				runtime.Gosched()
			}
			c.Withdraw()
		}
		return nil, ctx.Err()
	}}
}

// zombie waits for its turn and does not look at its own key.
func zombie(s *memstore.Store) func(context.Context, string) (lease.Leadership, error) {
	return func(ctx context.Context, name string) (lease.Leadership, error) {
		c := s.Stand(name)
		if l, ok := c.Elected(); ok {
			return l, nil
		}
		for ctx.Err() == nil {
			standing := s.Standing()
			if !slices.Contains(standing, name) {
				break
			}
			if standing[0] == name { // asked before its turn, it would stand again
				if l, ok := c.Elected(); ok {
					return l, nil
				}
			}
			runtime.Gosched()
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

// phantom waits until nobody stands before it, itself included.
func phantom(s *memstore.Store) func(context.Context, string) (lease.Leadership, error) {
	return func(ctx context.Context, name string) (lease.Leadership, error) {
		c := s.Stand(name)
		if l, ok := c.Elected(); ok {
			return l, nil
		}
		for ctx.Err() == nil {
			if len(s.Standing()) == 0 {
				l, _ := s.Stand("somebody else").Elected()
				s.DeleteLeader()
				return l, nil
			}
			runtime.Gosched()
		}
		c.Withdraw()
		return nil, ctx.Err()
	}
}

func concurrencyMutants() []mutant {
	return []mutant{
		{name: "check, then act", caught: "concurrent/histories are linearizable", mutate: onCommit(func(s *memstore.Store) commitFunc {
			return func(ctx context.Context, _ lease.LeaderKey, writes []lease.Write) (int64, error) {
				have := revisions(ctx, s, writes)
				for _, w := range writes {
					if have[w.Key] != w.Expect {
						return 0, lease.ErrConflict
					}
				}
				runtime.Gosched()
				return s.Force(writes), nil
			}
		})},
		{name: "reads are sometimes old", caught: "concurrent/histories are linearizable", mutate: onGet(func(s *memstore.Store) getFunc {
			var mu sync.Mutex
			random := rand.New(rand.NewPCG(1, 1))
			cache := map[string][]lease.Entry{}
			return func(ctx context.Context, keys []string) ([]lease.Entry, int64, error) {
				mu.Lock()
				defer mu.Unlock()
				entries, revision, err := s.Get(ctx, keys)
				if len(keys) == 1 {
					if old, ok := cache[keys[0]]; ok && random.IntN(4) == 0 {
						return old, revision, err
					}
					cache[keys[0]] = entries
				}
				return entries, revision, err
			}
		})},
		{name: "a transaction is made one write at a time", caught: "concurrent/transactions and reads are atomic", mutate: onCommit(func(s *memstore.Store) commitFunc {
			return func(ctx context.Context, leader lease.LeaderKey, writes []lease.Write) (int64, error) {
				var last int64
				for _, w := range writes {
					revision, err := s.Commit(ctx, leader, []lease.Write{w})
					if err != nil {
						return 0, err
					}
					last = revision
					runtime.Gosched()
				}
				return last, nil
			}
		})},
		{name: "a read is made one entry at a time", caught: "concurrent/transactions and reads are atomic", mutate: onGet(func(s *memstore.Store) getFunc {
			return func(ctx context.Context, keys []string) ([]lease.Entry, int64, error) {
				var all []lease.Entry
				var last int64
				for _, key := range keys {
					entries, revision, err := s.Get(ctx, []string{key})
					if err != nil {
						return nil, 0, err
					}
					all, last = append(all, entries...), revision
					runtime.Gosched()
				}
				return all, last, nil
			}
		})},
	}
}
