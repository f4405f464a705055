package partition_test

import (
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/policy"
)

// quota parses a policy of one quota, given as the rest of a {mapping} after its match.
func quota(t testing.TB, rest string) *policy.Quota {
	t.Helper()
	const head = "apiVersion: leasehold/v1\ndomain: api\nquotas:\n"
	set, err := policy.Parse("p", []byte(head+"  - {name: q, match: {}, "+rest+"}\n"))
	require.NoError(t, err)
	return set.Quota("api/q")
}

func texts(r partition.Result) string {
	var lines []string
	for i := range r.Lines {
		lines = append(lines, r.Lines[i].Text())
	}
	return strings.Join(lines, "\n")
}

func TestTheWorkedExample(t *testing.T) {
	q := quota(t, "limit: {tokens: 1000, per: 1s}, partition: {mode: local_fallback, rate: {tokens: 50, per: 1s}, burst: 100, for: 10m}")
	r := partition.Bound(q, lease.DefaultDrift, []partition.Cut{
		{Region: "eu", Holders: 2, For: 10 * time.Minute},
		{Region: "ap", Holders: 1, For: 5 * time.Minute, Count: 2},
		{Region: "ap", Holders: 1, For: time.Minute},
		{Region: "us", Holders: 0, For: time.Hour, Count: 9}, // nobody is there
	})
	require.Equal(t, "eu: 2 holders x (100 + 1.001 x 50/s x 600 s) = 60260\n"+
		"ap: 2 cuts x (100 + 1.001 x 50/s x 300 s) = 30230\nap: 100 + 1.001 x 50/s x 60 s = 3103", texts(r))
	require.Equal(t, int64(93593), r.Tokens)
	require.Equal(t, 11*time.Minute, r.Span, "the three of ap come one after the other")
	require.Equal(t, int64(1000+660660), r.Allowed)
	require.InDelta(t, 100*93593.0/661660, r.Percent(), 1e-9)
	require.False(t, r.Exact || r.Unbounded || r.Saturated)
}

func TestTheExactModesAddNothing(t *testing.T) {
	for _, mode := range []string{"fail_closed", "local_floor"} {
		q := quota(t, "limit: {tokens: 10, per: 1s}, partition: {mode: "+mode+"}, regions: {eu: {nodes: 3}}")
		r := partition.Bound(q, lease.DefaultDrift, []partition.Cut{{Region: "eu", Holders: 3, For: time.Hour, Count: 9}})
		require.Equal(t, partition.Result{Exact: true, Allowed: 10}, r)
	}
}

func TestWhatHasNoBoundIsNotCalledHarmless(t *testing.T) {
	free := quota(t, "limit: {tokens: unbounded}")
	unknown := &policy.Quota{Limit: policy.Limit{Tokens: 1, Per: 1, Burst: 1}, Partition: policy.Partition{Mode: 99}}
	for _, q := range []*policy.Quota{free, unknown} {
		r := partition.Bound(q, lease.DefaultDrift, nil)
		require.True(t, r.Unbounded)
		require.False(t, r.Exact)
		require.Equal(t, int64(math.MaxInt64), r.Tokens)
		require.True(t, math.IsInf(r.Percent(), 1))
	}
}

// The example of docs/overshoot.md, and the table of the states, are what this package says.
func TestTheDocsSayTheSame(t *testing.T) {
	doc, err := os.ReadFile("../docs/overshoot.md")
	require.NoError(t, err)
	q := quota(t, "limit: {tokens: 1000, per: 1s}, partition: {mode: local_fallback, rate: {tokens: 50, per: 1s}, burst: 100, for: 10m}")
	r := partition.Bound(q, lease.DefaultDrift, []partition.Cut{
		{Region: "eu", Holders: 2, For: time.Hour}, {Region: "ap", Holders: 1, For: time.Minute, Count: 3},
	})
	for _, l := range r.Lines {
		require.Contains(t, string(doc), "\n    "+l.Text()+"\n")
	}
	require.Contains(t, string(doc), fmt.Sprintf("bound %d, %.1f%% of the %d that the limit allows in %v\n", r.Tokens, r.Percent(), r.Allowed, r.Span))
	for s := partition.NeverConnected; s <= partition.Healing; s++ {
		require.Contains(t, string(doc), "| `"+s.String()+"` |")
	}
	timing := partition.DefaultTiming()
	for what, of := range map[string]time.Duration{
		"| %v s after the last answer, or when the stream breaks |": timing.Suspect, "| %v s after the last answer; from": timing.CutOff,
		"nothing was amiss for %v s": timing.Settle, "begin more than %v s apart": timing.Settle + timing.CutOff - timing.Suspect,
	} {
		require.Contains(t, string(doc), fmt.Sprintf(what, of.Seconds()))
	}
}
