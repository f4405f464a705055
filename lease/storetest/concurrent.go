package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// concurrencyChecks are about what concurrent callers see.
func concurrencyChecks() []check {
	return []check{
		{"concurrent/histories are linearizable", linearizable},
		{"concurrent/transactions and reads are atomic", transfers},
	}
}

// spawn runs f beside the check.
func spawn(f func()) {
	var wg sync.WaitGroup
	wg.Go(f)
}

// together runs f for n clients at once and fails with their errors.
func (p *probe) together(n int, f func(client int) error) {
	p.Helper()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { errs[i] = f(i) })
	}
	wg.Wait()
	require.NoError(p, errors.Join(errs...))
}

// linearizable records what concurrent clients did to a few keys, and asks
// whether one client alone could have done it in some order.
func linearizable(p *probe) {
	const clients, laps, keys = 4, 120, 3
	leader := p.lead("a").Key()
	var clock atomic.Int64
	histories := make([][]operation, clients)
	p.together(clients, func(client int) error {
		random := rand.New(rand.NewPCG(1, uint64(client)))
		known := [keys]int64{}
		var last int64
		for lap := range laps {
			k := random.IntN(keys)
			op := operation{client: client, key: "k" + strconv.Itoa(k), read: random.IntN(3) == 0}
			if !op.read {
				op.expect = known[k]
				op.value = fmt.Sprintf("%d by %d", lap, client)
				op.remove = random.IntN(5) == 0
			}
			op.call = clock.Add(1)
			revision, err := p.perform(leader, &op)
			op.ret = clock.Add(1)
			if err != nil {
				return err
			}
			if revision != 0 && revision < last {
				return fmt.Errorf("client %d: the revision fell from %d to %d", client, last, revision)
			}
			last = max(last, revision)
			known[k] = op.found.revision
			histories[client] = append(histories[client], op)
		}
		return nil
	})
	judge(p, histories)
}

// perform does one operation, notes in it what was found, and returns the
// revision of the store that it learned, or 0.
func (p *probe) perform(leader lease.LeaderKey, op *operation) (int64, error) {
	if op.read {
		entries, revision, err := p.Store.Get(p.ctx, []string{op.key})
		for _, e := range entries {
			op.found = cell{e.Revision, string(e.Value)}
		}
		runtime.Gosched()
		return revision, err
	}
	w := put(op.key, op.value, op.expect)
	if op.remove {
		w.Value = nil
	}
	revision, err := p.Store.Commit(p.ctx, leader, []lease.Write{w})
	switch {
	case errors.Is(err, lease.ErrConflict):
		op.conflict = true
		return 0, nil // known is 0 then: the next attempt of this client may create or fail
	case err == nil && !op.remove:
		op.found = cell{revision, op.value}
	}
	return revision, err
}

// transfers moves tokens between two records, one at a time: they never vanish
// and never double, in no read and in the end.
func transfers(p *probe) {
	const writers, readers, laps, total = 3, 2, 60, 1000
	leader := p.lead("a").Key()
	p.commit(leader, put("from", strconv.Itoa(total), 0), put("to", "0", 0))
	var moved atomic.Int64
	p.together(writers+readers, func(client int) error {
		for range laps {
			from, to, err := p.accounts(client%2 == 0)
			switch {
			case err != nil:
				return err
			case amount(from)+amount(to) != total:
				return fmt.Errorf("read %s and %s of %d", from.Value, to.Value, total)
			case client >= writers:
				continue
			}
			runtime.Gosched()
			_, err = p.Store.Commit(p.ctx, leader, []lease.Write{
				put("from", strconv.Itoa(amount(from)-1), from.Revision),
				put("to", strconv.Itoa(amount(to)+1), to.Revision),
			})
			switch {
			case err == nil:
				moved.Add(1)
			case !errors.Is(err, lease.ErrConflict):
				return err
			}
		}
		return nil
	})
	from, to, err := p.accounts(false)
	require.NoError(p, err)
	require.Equal(p, int(moved.Load()), amount(to), "as many as were acknowledged")
	require.Equal(p, total, amount(from)+amount(to))
	require.Positive(p, moved.Load())
}

// accounts reads both records in one call.
func (p *probe) accounts(scan bool) (from, to lease.Entry, err error) {
	var entries []lease.Entry
	if scan {
		entries, _, err = p.Store.Scan(p.ctx, "", "", 2)
	} else {
		entries, _, err = p.Store.Get(p.ctx, []string{"from", "to"})
	}
	if err == nil && len(entries) != 2 {
		err = fmt.Errorf("found %d of two records", len(entries))
	}
	if err != nil {
		return lease.Entry{}, lease.Entry{}, err
	}
	if entries[0].Key == "to" {
		return entries[1], entries[0], nil
	}
	return entries[0], entries[1], nil
}

func amount(e lease.Entry) int {
	n, err := strconv.Atoi(string(e.Value))
	if err != nil {
		return -1 << 30 // no sum comes out right
	}
	return n
}
