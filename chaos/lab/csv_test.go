package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestReadTrace(t *testing.T) {
	trace, cut, err := ReadTrace("x.csv", strings.NewReader("time_ms,region,key,cost\n500,us,a,1\n1500,ap,b,7\n1500,us,a,2\n"))
	require.NoError(t, err)
	assert.Zero(t, cut)
	assert.Equal(t, Trace{K: 2, End: Lead + 2*time.Second, Requests: []Request{
		{At: Lead, Region: 1, Cost: 1}, {At: Lead + time.Second, Region: 0, Cost: 7}, {At: Lead + time.Second, Region: 1, Cost: 2},
	}}, trace)
	assert.Equal(t, Limit{Rate: 5, Burst: 50}, trace.limit())
}

func TestSilenceOfATraceIsShortened(t *testing.T) {
	trace, cut, err := ReadTrace("x.csv", strings.NewReader("time_ms,region,key,cost\n0,us,a,1\n7200000,us,b,1\n7201000,us,b,1\n"))
	require.NoError(t, err)
	assert.Equal(t, 2*time.Hour-30*time.Second, cut)
	assert.Equal(t, Lead+30*time.Second, trace.Requests[1].At)
	assert.Equal(t, Lead+31*time.Second, trace.Requests[2].At)
	assert.Equal(t, "trace x.csv, k=1, 100 ms, without 1h59m30s of silence", FromTrace("dir/x.csv", trace, cut).Name)
}

func TestReadTraceNamesThePlaceOfAMistake(t *testing.T) {
	for text, want := range map[string]string{
		"":                                    "x.csv: the file is empty",
		"time,region,key,cost\n":              "x.csv:1: the header is",
		"time_ms,region,key\n":                "wrong number of fields",
		"time_ms,region,key,cost\n":           "x.csv: no requests",
		"time_ms,region,key,cost\n1,us,a\n":   "record on line 2: wrong number of fields",
		"time_ms,region,key,cost\nx,us,a,1\n": "x.csv:2: time_ms is \"x\"",
		"time_ms,region,key,cost\n1,us,a,1\n-1,us,a,1\n":        "x.csv:3: time_ms is \"-1\"",
		"time_ms,region,key,cost\n9,us,a,1\n8,us,a,1\n":         "x.csv:3: time_ms \"8\" is before the line above",
		"time_ms,region,key,cost\n1,,a,1\n":                     "x.csv:2: region is empty",
		"time_ms,region,key,cost\n1,us,a,0\n":                   "x.csv:2: cost is \"0\"",
		"time_ms,region,key,cost\n1,us,a,1.5\n":                 "x.csv:2: cost is \"1.5\"",
		"time_ms,region,key,cost\n1,us,a,9007199254740993\n":    "x.csv:2: cost is \"9007199254740993\"",
		"time_ms,region,key,cost\n9223372036854775807,us,a,1\n": "x.csv:2: time_ms is \"9223372036854775807\"",
		"time_ms,region,key,cost\n1,us,\"a,1\n":                 "x.csv",
	} {
		_, _, err := ReadTrace("x.csv", strings.NewReader(text))
		require.Error(t, err, "%q", text)
		assert.ErrorContains(t, err, want)
	}
}
