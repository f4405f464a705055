package lab

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// small is a report of two systems in two scenarios.
func small(t *testing.T, seed uint64) *Report {
	t.Helper()
	ours, _ := FindModel(Ours)
	static, _ := FindModel("static 1/k")
	r, err := Measure(t.Context(), Options{Seed: seed, Quick: true, Only: "k=5, 100 ms", Models: []Model{ours, static}, Workers: 2})
	require.NoError(t, err)
	return r
}

func TestAReportIsTheSeeds(t *testing.T) {
	encode := func(r *Report) string {
		data, err := json.Marshal(r)
		require.NoError(t, err)
		return string(data)
	}
	one := encode(small(t, 1))
	assert.Equal(t, one, encode(small(t, 1)))
	assert.NotEqual(t, one, encode(small(t, 2)))
}

// made is a report as no run would give it, with something of everything.
func made() *Report {
	r := &Report{
		Seed: 1, Models: []string{Ours, "<other>"}, Likes: []string{"a", "b & c"}, Scenarios: []string{"zipf, k=3, 100 ms", "uniform, 300 ms, 5% lost"},
		Settled: []Settled{
			{Model: Ours, RoundTrip: 100 * ms, Times: []time.Duration{320 * ms}, Course: make([]float64, 60)},
			{Model: "<other>", RoundTrip: 100 * ms, Times: []time.Duration{-1}, Course: make([]float64, 60)},
		},
		Exhausted: []Exhausted{{Load: "uniform", K: 3, Tokens: 1000, Ratio: 3, Goal: 1.75, Used: 1}, {Load: "moving hotspot", K: 3, Ratio: 2, Goal: 2.5}},
		Exposed:   []Exposed{{Size: 10, TTL: time.Second, Held: 100, Moves: 1e5, Least: 1e4}, {TTL: time.Second, Held: 200, Moves: 1e4, Least: 1e3}},
	}
	for _, s := range r.Scenarios {
		r.Results = append(r.Results,
			Result{Scenario: s, Model: Ours, Used: 0.996, False: 0.002, Jain: 1},
			Result{Scenario: s, Model: "<other>", Used: 1.3, Overshoot: overshoots{Any: 7}, Jain: 0.5})
	}
	r.judge()
	return r
}

func TestGoalsJudgeOursByTheWorst(t *testing.T) {
	got := map[string]bool{}
	for _, g := range made().Goals {
		got[g.What] = g.Met
	}
	assert.Equal(t, map[string]bool{
		"over-admission": true, "use of the budget at 100 ms": true, "use of the budget at 300 ms and 5% lost": true, "false denials": false,
		"fairness": true, "settling": false, "coordination": false, "coordination, moving hotspot": true,
	}, got)
}

func TestPrintSaysEverything(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, made().Print(&b))
	for _, want := range []string{"zipf, k=3, 100 ms", "99.60%", "130.00%", "never", "320 ms", "3.00", "by demand", "NO"} {
		assert.Contains(t, b.String(), want)
	}
	assert.Error(t, made().Print(broken{}))
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("no") }

// The page needs nothing from anywhere, escapes what it is given, and has a
// well-formed drawing and a table for each figure.
func TestThePageStandsAlone(t *testing.T) {
	data, err := made().Page()
	require.NoError(t, err)
	page := string(data)
	assert.NotRegexp(t, `(?i)(src|href)=|https?://|url\(|@import|<script`, page)
	assert.NotContains(t, page, "NaN")
	assert.NotContains(t, page, "<other>")
	assert.Contains(t, page, "&lt;other&gt;")
	drawings := regexp.MustCompile(`(?s)<svg.*?</svg>`).FindAllString(page, -1)
	assert.Len(t, drawings, 8)
	for _, d := range drawings {
		decoder := xml.NewDecoder(strings.NewReader(d))
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			require.NoError(t, err)
		}
	}
	assert.Equal(t, strings.Count(page, "<section"), strings.Count(page, "</section>"))
	assert.GreaterOrEqual(t, strings.Count(page, "<table"), len(drawings)+2)
}

func TestAxesKeepToTheDrawing(t *testing.T) {
	a := axis{lo: 0, hi: 2}
	assert.Equal(t, 150.0, a.at(1, 100, 200))
	assert.Equal(t, 100.0, a.at(-1, 100, 200))
	assert.Equal(t, 200.0, a.at(9, 100, 200))
	l := logAxis(1, 100)
	assert.Equal(t, []float64{1, 10, 100}, l.ticks)
	assert.InDelta(t, 150.0, l.at(10, 100, 200), 1e-9)
	assert.Equal(t, 100.0, l.at(0, 100, 200))
	assert.Equal(t, "10k", power(10_000))
}

func TestMeasuringEnds(t *testing.T) {
	boom := errors.New("boom")
	err := work(t.Context(), []task{func() error { return nil }, func() error { return boom }}, 2)
	assert.ErrorIs(t, err, boom)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Measure(ctx, Options{Quick: true, Workers: 1})
	assert.ErrorIs(t, err, context.Canceled)
}
