package report

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

func TestWords(t *testing.T) {
	for want, got := range map[string]string{
		"0 s": seconds(0), "85 µs": seconds(85e-6), "1.25 ms": seconds(1.25e-3), "1 ms": seconds(0.0009999),
		"999 ms": seconds(0.999), "1 s": seconds(0.9999), "14.2 s": seconds(14.2), "59.9 s": seconds(59.94), "1 min": seconds(59.96),
		"12 min 5 s": seconds(725), "-1.5 s": seconds(-1.5), "–": seconds(math.NaN()),
		"+1,234": signed(1234), "−1,234": signed(-1234), "0": signed(0),
		"3.1": rate(3.14), "0.0": rate(0.04), "1,235": rate(1234.5), "10": rate(9.97),
		"100%": share(1), "> 99.9%": share(0.9999), "< 0.1%": share(0.0001), "0%": share(0), "31.3%": share(0.3125), "112.9%": share(1.129),
		"1 token": plural(1, "token"), "2,000 tokens": plural(2000, "token"),
		"a? b?": plain("a\x1b\nb\u202e"),
	} {
		require.Equal(t, want, got)
	}
	require.Equal(t, absent, rate(math.Inf(1)))
	require.Equal(t, absent, count(nil))
}

func TestScales(t *testing.T) {
	for x, want := range map[float64]float64{0: 1, 0.3: 0.5, 1: 1, 1.1: 2, 2.2: 2.5, 499: 500, 501: 1000} {
		require.Equal(t, want, nice(x), "nice(%v)", x)
	}
	require.Equal(t, pc(100), place(7, 0, 5), "nothing is drawn outside")
	require.Equal(t, pc(0), place(-7, 0, 5))
	require.Equal(t, pc(0), place(1, 5, 5))
	require.Equal(t, "33.33%", pc(100.0/3).String())
	var labels []string
	for _, k := range timeTicks(15) {
		labels = append(labels, k.Label)
	}
	require.Equal(t, []string{"0 s", "2.5 s", "5 s", "7.5 s", "10 s", "12.5 s", "15 s"}, labels)
	require.Len(t, timeTicks(3600), 7)
	require.Empty(t, timeTicks(0))
	require.Len(t, logTicks(1e-4, 1e-1), 4)
}

// One burst does not flatten a lane; a lane that is high throughout is not cut.
func TestOrdinary(t *testing.T) {
	burst := make([]float64, 100)
	for i := range burst {
		burst[i] = 10
	}
	require.Equal(t, 10.0, ordinary(burst))
	burst[0] = 15
	require.Equal(t, 15.0, ordinary(burst), "what nearly fits is not cut")
	burst[0] = 500
	require.Equal(t, 10.0, ordinary(burst))
	require.Equal(t, 3.0, ordinary([]float64{0, 0, 3}))
	require.Zero(t, ordinary(nil))
}

func TestPaths(t *testing.T) {
	gap := math.NaN()
	require.Equal(t, "M0 1000V500H2V0H3V1000M4 1000V0H5V1000", area([]float64{5, 5, 10, 0, 20}, 10), "cut at the top, gone at 0")
	require.Equal(t, "M0 500H2V0H3M4 1000H5", steps([]float64{5, 5, 10, gap, 0}, 10), "a gap is no zero")
	require.Empty(t, area([]float64{0, gap}, 10))
}

func bucketOf(bound *int64, closest, promised int64) *result.Overshoot {
	return &result.Overshoot{
		Bound: bound, Closest: closest, Observed: max(0, closest),
		Worst: result.Interval{ToSeconds: 1, Promised: promised, Admitted: promised + closest},
	}
}

func TestTheBarKeepsItsOrder(t *testing.T) {
	zero, bound := int64(0), int64(700)
	for _, c := range []struct {
		name string
		b    boundBar
	}{
		{"below", newBoundBar("x", bucketOf(&zero, -97, 600))},
		{"at", newBoundBar("x", bucketOf(&zero, 0, 600))},
		{"beyond", newBoundBar("x", bucketOf(&zero, 213, 600))},
		{"within", newBoundBar("x", bucketOf(&bound, 339, 600))},
		{"beyond a bound", newBoundBar("x", bucketOf(&bound, 701, 600))},
		{"nothing admitted", newBoundBar("x", bucketOf(&zero, 0, 0))},
		{"unbounded", newBoundBar("x", bucketOf(nil, 50, 600))},
	} {
		b := c.b
		for _, p := range []pc{b.Used, b.Promised, b.LensFrom, b.LensTo, b.Zero, b.Bound, b.Seen, b.MarginFrom, b.MarginTo} {
			require.True(t, p >= 0 && p <= 100, "%s: %v", c.name, p)
		}
		require.LessOrEqual(t, b.Zero, b.Bound, c.name)
		require.LessOrEqual(t, b.MarginFrom, b.MarginTo, c.name)
		require.Equal(t, b.Bounded && b.Seen > b.Bound, b.Broken, c.name)
		require.NotEmpty(t, b.Alt)
	}
	require.Equal(t, "1 beyond the bound", newBoundBar("x", bucketOf(&bound, 701, 600)).MarginLabel)
	require.Equal(t, "margin 361", newBoundBar("x", bucketOf(&bound, 339, 600)).MarginLabel)
}

// A sample that nobody answered is a gap, and many steps become one column.
func TestBins(t *testing.T) {
	n := 2*mostBins - 1
	l := result.RegionLine{
		Admitted: make([]int64, n), Denied: make([]int64, n), Failed: make([]int64, n),
		Leased: make([]*int64, n), Stranded: make([]*int64, n),
	}
	five := int64(5)
	l.Admitted[0], l.Admitted[1], l.Denied[1], l.Failed[0] = 1, 3, 2, 1
	l.Admitted[n-1], l.Leased[1] = 4, &five
	b := bin(&l, 0.5)
	require.Len(t, b.stack, mostBins)
	require.Equal(t, []float64{4, 6, 7}, []float64{b.admitted[0], b.answered[0], b.stack[0]})
	require.Equal(t, 8.0, b.admitted[mostBins-1], "the last column is half as long")
	require.Equal(t, 5.0, b.leased[0])
	require.True(t, math.IsNaN(b.leased[1]))
}

func TestFaultNamesDoNotOverlap(t *testing.T) {
	r := &result.Result{}
	for i := range 10 {
		r.Faults = append(r.Faults, result.Fault{Name: "cut", FromSeconds: float64(i), ToSeconds: float64(i) + 0.5})
	}
	labels, last := 0, pc(-100)
	for _, b := range faultBands(r, 10) {
		if b.Label != "" {
			require.Greater(t, b.From-last, pc(narrow))
			last = b.From
			labels++
		}
	}
	require.Positive(t, labels)
}
