package lab

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// play has a model play a workload for some seconds.
func play(t *testing.T, m Model, load string, k int, net Net, length time.Duration) (*world, *Trace) {
	t.Helper()
	work, ok := FindWorkload(load)
	require.True(t, ok, load)
	trace := work.Draw(1, k, 1000, length)
	w := newWorld(m, k, Limit{Rate: 1000, Burst: 2000}, net, 1, trace.End)
	require.NoError(t, w.Play(&trace), "%s, %s", m.Name, load)
	return w, &trace
}

func TestEveryRequestIsAnsweredOnce(t *testing.T) {
	for _, m := range append(Models(), Ideal) {
		for _, load := range Workloads {
			w, trace := play(t, m, load.Name, 4, Net{RoundTrip: 100 * ms, Spread: 200 * ms, Loss: 0.05}, 3*time.Second)
			assert.Equal(t, int64(len(trace.Requests)), w.settled, "%s, %s", m.Name, load.Name)
			assert.Len(t, trace.Requests, len(w.log)+len(w.denials), "%s, %s", m.Name, load.Name)
		}
	}
}

// The exact ones never exceed the promise, whatever is lost.
func TestTheExactOnesDoNotOvershoot(t *testing.T) {
	for _, name := range []string{Ours, "static 1/k", "ideal"} {
		m, ok := FindModel(name)
		if !ok {
			m = Ideal
		}
		for _, load := range Workloads {
			w, _ := play(t, m, load.Name, 5, Net{RoundTrip: 100 * ms, Loss: 0.05}, 8*time.Second)
			assert.Equal(t, overshoots{}, measureOvershoot(w.Limit, w.log), "%s, %s", name, load.Name)
		}
	}
}

// The ideal bucket admits all that a bucket can: its burst, and its rate for as
// long as somebody asks.
func TestTheIdealUsesItUp(t *testing.T) {
	w, trace := play(t, Ideal, "zipf", 5, Net{}, 20*time.Second)
	assert.InDelta(t, 2000+1000*20, w.admitted(), 25)
	assert.Greater(t, len(trace.Requests), 23_000)
}

// Each model shows what it is known for.
func TestModelsBehaveAsTheyAreNamed(t *testing.T) {
	measure := func(name, load string) Result {
		t.Helper()
		m, ok := FindModel(name)
		require.True(t, ok, name)
		ideal, _ := play(t, Ideal, load, 5, Net{}, 30*time.Second)
		w, trace := play(t, m, load, 5, Net{RoundTrip: 100 * ms}, 30*time.Second)
		return w.result(load, name, trace, ideal.admitted())
	}
	r := measure("static 1/k", "hot 95%")
	assert.Less(t, r.Used, 0.4, "four of five parts lie idle")
	assert.Greater(t, r.False, 0.4)
	assert.Zero(t, r.Grants+r.Recalls+r.Reports+r.Bytes)

	r = measure("central per request", "zipf")
	assert.InDelta(t, 1, r.Used, 0.001)
	assert.Zero(t, r.False)
	assert.InDelta(t, 1, r.Waited, 1e-9, "everybody waits for a round trip")
	assert.InDelta(t, 100, r.Slow.Milliseconds(), 1)

	r = measure("fixed batches", "15-fold surge")
	assert.Positive(t, r.Overshoot.Any, "what is kept comes on top of a full bucket")

	r = measure("5 s refresh, 300 s leases", "moving hotspot")
	assert.Less(t, r.Used, 0.5, "always a refresh behind")

	r = measure("10 s requests with trickle", "moving hotspot")
	assert.Less(t, r.Used, 0.8)

	r = measure("1 s controller", "moving hotspot")
	assert.Less(t, r.Used, 0.95)
	assert.Greater(t, r.Used, 0.6)

	r = measure("100 ms optimistic reports", "15-fold surge")
	assert.Greater(t, r.Overshoot.Any, int64(500), "admitted before it was told")

	r = measure("50 ms gossip shares", "uniform")
	assert.Zero(t, r.Grants+r.Recalls)
	assert.Greater(t, r.Used, 0.95)
}

// Ours is what ships: whoever breaks it notices here, coarsely; the goals are in
// the report.
func TestOursIsUsable(t *testing.T) {
	m, _ := FindModel(Ours)
	for load, least := range map[string]float64{"uniform": 0.97, "hot 95%": 0.999, "moving hotspot": 0.995, "15-fold surge": 0.95} {
		ideal, _ := play(t, Ideal, load, 5, Net{}, 30*time.Second)
		w, trace := play(t, m, load, 5, Net{RoundTrip: 100 * ms}, 30*time.Second)
		r := w.result(load, Ours, trace, ideal.admitted())
		assert.Greater(t, r.Used, least, load)
		assert.Less(t, r.Grants, 150_000.0, "%s: it is granted token by token", load)
		assert.Greater(t, r.Jain, 0.99, load)
		assert.Positive(t, r.Grants, load)
		assert.Positive(t, r.Bytes, load)
		assert.Positive(t, r.Exposed, load)
	}
}

func TestLossIsLoss(t *testing.T) {
	m, _ := FindModel("central per request")
	w, trace := play(t, m, "hot 95%", 5, Net{RoundTrip: 100 * ms, Loss: 0.05}, 20*time.Second)
	assert.InDelta(t, 1-0.95*0.95, float64(len(w.denials))/float64(len(trace.Requests)), 0.01)
}

func TestWindowQuotasAreUsedUpToTheLastToken(t *testing.T) {
	work := Workload{Name: "uniform", Demand: func(_, k int, _ time.Duration) float64 { return 1 / float64(k) }}
	e, err := exhaust(work, 3, 5000, 1)
	require.NoError(t, err)
	assert.Equal(t, 1.0, e.Used)
	assert.Positive(t, e.Grants)
	assert.Positive(t, e.Ratio)
	assert.Less(t, e.Late, 3*time.Second)
}
