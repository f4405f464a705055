package figures

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// two returns the results of two rounds.
func two(t *testing.T) *Results {
	t.Helper()
	var r Results
	for _, text := range []string{
		"BenchmarkOurs 100 20 ns/op 0 allocs/op\nBenchmarkOurs-2 100 10 ns/op\nBenchmarkA/x-y 100 40 ns/op\nBenchmarkB 1 100 ns/op\n",
		"BenchmarkOurs 100 30 ns/op 0 allocs/op\nBenchmarkOurs-2 100 20 ns/op\nBenchmarkA/x-y 100 100 ns/op\nBenchmarkB 1 50 ns/op\n",
	} {
		r.Begin()
		require.NoError(t, r.Read("test", strings.NewReader(text)))
	}
	return &r
}

func TestRatiosAreTakenInEachRound(t *testing.T) {
	r := two(t)
	ours := Ref{"Ours", 1, "sec/op"}
	peers := []Ref{{"A/x-y", 1, "sec/op"}, {"B", 1, "sec/op"}}
	s, ok := r.Ratio(ours, peers, false)
	require.True(t, ok)
	assert.InDelta(t, 0.55, s.Median, 1e-9, "20/40 and 30/50: the best peer of each round")
	s, ok = r.Ratio(ours, peers, true)
	require.True(t, ok)
	assert.InDelta(t, 0.25, s.Median, 1e-9, "20/100 and 30/100")
	s, ok = r.Value(Ref{"Ours", 2, "sec/op"})
	require.True(t, ok)
	assert.InDelta(t, 15e-9, s.Median, 1e-15)
	assert.Equal(t, 2, s.Rounds)
	_, ok = r.Ratio(ours, []Ref{{"C", 1, "sec/op"}}, false)
	assert.False(t, ok, "nobody measured it")
}

func TestVerdicts(t *testing.T) {
	r := two(t)
	ours := Ref{"Ours", 1, "sec/op"}
	for _, c := range []struct {
		row  Row
		want string
	}{
		{Row{Of: ours, Over: []Ref{{"A/x-y", 1, "sec/op"}}, Goal: Goal{AtMost: 0.5}}, "met"},
		{Row{Of: ours, Over: []Ref{{"A/x-y", 1, "sec/op"}}, Goal: Goal{AtMost: 0.2}}, "missed by 100%"},
		{Row{Of: ours, Over: []Ref{{"A/x-y", 1, "sec/op"}}, Goal: Goal{AtLeast: 0.8}}, "missed by 50%"},
		{Row{Of: Ref{"Ours", 1, "allocs/op"}, Goal: Goal{Zero: true}}, "met"},
		{Row{Of: ours, Goal: Goal{Zero: true}}, "missed"},
		{Row{Of: ours}, ""},
		{Row{Of: Ref{"C", 1, "sec/op"}, Goal: Goal{AtMost: 1}}, "not measured"},
	} {
		f := r.Judge(c.row)
		assert.Equal(t, c.want, f.Verdict(), "%+v", c.row)
		assert.Equal(t, c.want == "met", f.Met())
	}
}

func TestReadSaysWhatIsNoResult(t *testing.T) {
	var r Results
	require.ErrorContains(t, r.Read("broken", strings.NewReader("BenchmarkX ten 1 ns/op\n")), "broken")
	failing := io.MultiReader(strings.NewReader("BenchmarkX 1 1 ns/op\n"), failure{})
	require.ErrorIs(t, r.Read("failing", failing), errFailed)
}

var errFailed = errors.New("failed")

type failure struct{}

func (failure) Read([]byte) (int, error) { return 0, errFailed }

// TestReportIsWritten reads what is written for machines as they do.
func TestReportIsWritten(t *testing.T) {
	r := two(t)
	rows := []Row{
		{Section: "a & b", What: "ours < theirs", Of: Ref{"Ours", 1, "sec/op"}, Over: []Ref{{"B", 1, "sec/op"}}, Goal: Goal{AtMost: 0.5}},
		{Section: "a & b", What: "time", Of: Ref{"Ours", 1, "sec/op"}},
		{Section: "a & b", What: "nobody", Of: Ref{"C", 1, "keys"}, Goal: Goal{AtLeast: 1}},
	}
	report := Report{Machine: "m", Go: "go", Commit: "c", Rounds: 2, Results: r, Curves: []Curve{{Name: "n", X: "keys", Y: "s", Points: []Point{{1, 1}, {10, 9}}}}}
	for _, row := range rows {
		report.Figures = append(report.Figures, r.Judge(row))
	}
	var table, text, drawing bytes.Buffer
	require.NoError(t, report.Table(&table))
	assert.Contains(t, table.String(), "at most 0.50")
	assert.Contains(t, table.String(), "25.0 ns")
	assert.Contains(t, table.String(), "not measured")

	require.NoError(t, report.JSON(&text))
	var j struct {
		Figures []struct {
			What  string
			Value *Spread
		}
		Measurements map[string]Spread
	}
	require.NoError(t, json.Unmarshal(text.Bytes(), &j))
	require.Len(t, j.Figures, 3)
	assert.InDelta(t, 0.4, j.Figures[0].Value.Median, 1e-9)
	assert.Nil(t, j.Figures[2].Value)
	assert.Contains(t, j.Measurements, "Ours-2 sec/op")

	require.NoError(t, report.SVG(&drawing))
	for d := xml.NewDecoder(&drawing); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
	}
}
