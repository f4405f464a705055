package lab

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDrawKeepsToTheDemand(t *testing.T) {
	for _, w := range Workloads {
		for _, k := range []int{3, 5, 20} {
			const rate, length = 1000, 20 * time.Second
			trace := w.Draw(7, k, rate, length)
			got := make([]float64, k)
			for i, q := range trace.Requests {
				require.True(t, q.At >= Lead && q.At < trace.End, "%s: a request at %v", w.Name, q.At)
				require.True(t, i == 0 || trace.Requests[i-1].At <= q.At, "%s: request %d comes before the one above", w.Name, i)
				require.Equal(t, int64(1), q.Cost)
				got[q.Region]++
			}
			for i := range k {
				want := 0.0
				for at := time.Duration(0); at < length; at += 10 * time.Millisecond {
					want += w.Demand(i, k, at) * rate / 100
				}
				assert.InDelta(t, want, got[i], 5+4.5*math.Sqrt(want), "%s, region %d of %d", w.Name, i, k)
			}
		}
	}
}

func TestDrawIsTheSeeds(t *testing.T) {
	w := Workloads[1]
	one, same, other := w.Draw(1, 5, 100, time.Second), w.Draw(1, 5, 100, time.Second), w.Draw(2, 5, 100, time.Second)
	assert.Equal(t, one, same)
	assert.NotEqual(t, one, other)
}

func TestTheMatrixCoversEveryValue(t *testing.T) {
	var loads []string
	var ks []int
	var trips []time.Duration
	var losses []float64
	for _, s := range matrix {
		_, ok := FindWorkload(s.load)
		require.True(t, ok, s.load)
		loads, ks, trips, losses = append(loads, s.load), append(ks, s.k), append(trips, s.rtt), append(losses, s.loss)
	}
	for _, w := range Workloads {
		assert.Contains(t, loads, w.Name)
	}
	for _, k := range []int{3, 5, 10, 20, 490} {
		assert.Contains(t, ks, k)
	}
	for _, d := range []time.Duration{20 * ms, 100 * ms, 300 * ms} {
		assert.Contains(t, trips, d)
	}
	for _, l := range []float64{0, 0.01, 0.05} {
		assert.Contains(t, losses, l)
	}
	for _, i := range quick {
		assert.Less(t, i, len(matrix))
	}
	assert.Len(t, Matrix(true), len(quick))
}

func TestEventsComeInTheOrderOfTimeAndThenOfMaking(t *testing.T) {
	var a agenda
	var got []int
	for i, at := range []time.Duration{3, 1, 2, 1, 3, 0, 2, 1} {
		a.push(at, func() { got = append(got, i) })
	}
	for len(a.list) > 0 {
		at, ok := a.next()
		e := a.pop()
		require.True(t, ok && at == e.at)
		e.do()
	}
	assert.Equal(t, []int{5, 1, 3, 7, 2, 6, 0, 4}, got)
	assert.True(t, slices.ContainsFunc(Models(), func(m Model) bool { return m.Name == Ours }))
}
