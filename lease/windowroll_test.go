package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/bucket"
	"github.com/a1009580/leasehold/lease"
)

// TestAWindowThatRollsUnderARequestAnswersIt has a region ask for a key that it
// does not know in the last moment of a window: when the report is looked at, the
// next window is open. It does not ask again, and must not wait for ever.
func TestAWindowThatRollsUnderARequestAnswersIt(t *testing.T) {
	w, err := bucket.FixedWindows(10 * time.Second)
	require.NoError(t, err)
	r := newRig(t, lease.Terms{Quota: "api/key", Tokens: 10, Windowed: true, Windows: w, TTL: 5 * time.Second})
	h := r.join("us")
	r.run(500 * time.Millisecond)
	r.now = r.now.Truncate(10*time.Second) + 10*time.Second - time.Millisecond
	require.Equal(t, lease.Cold, r.ask("us", "k", 1).Outcome)
	batch, ok := h.Tick(r.now)
	require.True(t, ok)
	require.NoError(t, r.ledger.Report(r.moment(), batch)) // its record is being read

	r.now += 2 * time.Millisecond // the next window has begun
	r.ledger.Tick(r.moment())
	r.settle()
	require.Equal(t, lease.Admitted, r.ask("us", "k", 1).Outcome)
	require.Equal(t, int64(10), 1+r.drain("us", "k")+r.collect("us", "k"))
}

// collect goes on asking until nothing more comes in this window.
func (r *rig) collect(name, key string) (n int64) {
	for range 20 {
		r.step(100 * time.Millisecond)
		n += r.drain(name, key)
	}
	return n
}
