package result_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

func sample() *result.Result {
	zero, some := int64(0), int64(7)
	return &result.Result{
		Schema:     result.Schema,
		Verdict:    result.Verdict{Outcome: result.Pass, Sentence: "all was well"},
		Overshoots: []result.Overshoot{{Quota: "api/key", Key: "hot", Bound: &zero, Closest: -7, Margin: &some}},
		Timeline: result.Timeline{StepSeconds: 0.1, Steps: 2, Regions: []result.RegionLine{{
			Region: "eu", Admitted: []int64{1, 2}, Denied: []int64{0, 1}, Failed: []int64{0, 0},
			Leased: []*int64{&some, nil}, Stranded: []*int64{&zero, nil},
		}}},
		Raw: result.Raw{Admissions: result.Admissions{
			Regions: []string{"eu"}, Sent: []int64{1}, Received: []int64{2}, Cost: []int64{1}, Region: []int{0}, Bucket: []int{0},
		}},
	}
}

func TestAResultRoundTrips(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, sample().Write(&b))
	back, err := result.Read(&b)
	require.NoError(t, err)
	require.Equal(t, sample(), back)
}

func TestAResultThatDoesNotFitTogetherIsRefused(t *testing.T) {
	for want, change := range map[string]func(r *result.Result){
		"verdict.outcome":           func(r *result.Result) { r.Verdict.Outcome = "GOOD" },
		"denied has 1 values":       func(r *result.Result) { r.Timeline.Regions[0].Denied = []int64{1} },
		"stranded has 0 values":     func(r *result.Result) { r.Timeline.Regions[0].Stranded = nil },
		"columns of 1, 0":           func(r *result.Result) { r.Raw.Admissions.Received = nil },
		"region 1 or bucket 0 does": func(r *result.Result) { r.Raw.Admissions.Region[0] = 1 },
		"region 0 or bucket 1 does": func(r *result.Result) { r.Raw.Admissions.Bucket[0] = 1 },
	} {
		r := sample()
		change(r)
		var b bytes.Buffer
		require.NoError(t, r.Write(&b))
		_, err := result.Read(&b)
		require.ErrorContains(t, err, want)
	}
}

func TestOtherDocumentsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"schema":"leasehold/drill-result/v9"}`: "v9",
		`{`:                                      "unexpected EOF",
		`{"schema":"leasehold/drill-result/v1","verdict":{"outcome":"PASS"}} x`: "follows",
	} {
		_, err := result.Read(strings.NewReader(text))
		require.ErrorContains(t, err, want)
	}
}

var update = flag.Bool("update", false, "write testdata anew")

// TestTheFormIsStable holds the document to what scripts have seen: names do not
// change, and series stay on one line.
func TestTheFormIsStable(t *testing.T) {
	const file = "testdata/sample.json"
	var b bytes.Buffer
	require.NoError(t, sample().Write(&b))
	if *update {
		require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), b.String(), "run go test ./chaos/drill/result -args -update if that is how it should be")
}

func TestWritingChangesNothing(t *testing.T) {
	r := sample()
	r.Verdict.Sentence = `quotes "[{,:}]" and \ and <tags>` + "\n"
	r.Events = []result.Event{{Text: `a \" b`}, {Text: "["}}
	r.Hypotheses = []result.Check{}
	var b, again bytes.Buffer
	require.NoError(t, r.Write(&b))
	want, err := json.Marshal(r)
	require.NoError(t, err)
	require.NoError(t, json.Compact(&again, b.Bytes()))
	require.Equal(t, string(want), again.String())
}

func TestWhatJSONCannotSayIsAnError(t *testing.T) {
	r := sample()
	r.Latencies = []result.Latency{{P50: math.NaN()}}
	require.ErrorContains(t, r.Write(&bytes.Buffer{}), "NaN")
}
