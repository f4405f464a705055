package trace_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/internal/demo/trace"
)

const header = "time_ms,region,key,cost\n"

func read(text string) ([]trace.Request, error) {
	r, err := trace.NewReader("t.csv", strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	var all []trace.Request
	for {
		q, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, q)
	}
}

func TestRead(t *testing.T) {
	want := []trace.Request{
		{0, "us", "a", 1}, {0, "eu", "b, with \"quotes\"", 0}, {1500 * time.Millisecond, "us", "a", 1 << 53},
	}
	text := "1000,us,a,1\n1000,eu,\"b, with \"\"quotes\"\"\",0\n2500,us,a,9007199254740992\n"
	for _, whole := range []string{header + text, "\ufeff" + header + text, strings.ReplaceAll(header+text, "\n", "\r\n"), strings.TrimRight(header+text, "\n")} {
		all, err := read(whole)
		require.NoError(t, err)
		require.Equal(t, want, all)
	}
	all, err := read(header)
	require.NoError(t, err)
	require.Empty(t, all)
}

func TestWhatIsWrongIsToldByLine(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", "t.csv:1: is empty"},
		{"two bytes", "ti", `t.csv:1: the first line must be time_ms,region,key,cost, not "ti"`},
		{"no header", "0,us,a,1\n", "t.csv:1: the first line must be"},
		{"another order", "time_ms,key,region,cost\n", "t.csv:1: the first line must be"},
		{"too few", header + "0,us,a,1\n\n1,us,a\n", "t.csv:4: has 3 fields"},
		{"too many", header + "0,us,a,1,\n", "t.csv:2: has 5 fields"},
		{"no time", header + "soon,us,a,1\n", `t.csv:2: time_ms "soon" must be an integer from 0`},
		{"a fraction", header + "0.5,us,a,1\n", `time_ms "0.5"`},
		{"negative", header + "-1,us,a,1\n", `time_ms "-1"`},
		{"plus", header + "+1,us,a,1\n", `time_ms "+1"`},
		{"space", header + "1, us,a,1\n", `region " us" must be`},
		{"back in time", header + "5,us,a,1\n4,us,a,1\n", "t.csv:3: time_ms 4 is before the 5 of the line above"},
		{"no region", header + "1,,a,1\n", `region "" must be`},
		{"no key", header + "1,us,,1\n", "key has 0 bytes"},
		{"long key", header + "1,us," + strings.Repeat("k", 1025) + ",1\n", "key has 1025 bytes"},
		{"negative cost", header + "1,us,a,-1\n", `cost "-1" must be an integer from 0 to 9007199254740992`},
		{"large cost", header + "1,us,a,9007199254740993\n", "cost"},
		{"endless cost", header + "1,us,a," + strings.Repeat("é", 200) + "\n", "..."},
		{"a quote", header + "1,us,\"a,1\n", "t.csv:"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := read(c.text)
			require.ErrorContains(t, err, c.want)
			var e *trace.Error
			require.ErrorAs(t, err, &e)
		})
	}
	broken := errors.New("disk is gone")
	_, err := trace.NewReader("t.csv", iotest.ErrReader(broken))
	require.ErrorIs(t, err, broken)
}

func TestSummarize(t *testing.T) {
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "t.csv")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	s, err := trace.Summarize(write(header + "10,us,a,3\n20,eu,b,4\n70,us,a,0\n"))
	require.NoError(t, err)
	assert.Equal(t, trace.Summary{Requests: 3, Tokens: 7, Length: 60 * time.Millisecond, Regions: []string{"eu", "us"}}, s)

	_, err = trace.Summarize(write(header))
	require.ErrorContains(t, err, ":2: holds no request")
	_, err = trace.Summarize(write(header + "x\n"))
	require.ErrorContains(t, err, ":2: has 1 fields")
	_, err = trace.Summarize(write(""))
	require.ErrorContains(t, err, ":1: is empty")
	_, err = trace.Summarize(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)

	var many strings.Builder
	for i := range 17 {
		many.WriteString("0,r" + string(rune('a'+i)) + ",k,1\n")
	}
	_, err = trace.Summarize(write(header + many.String()))
	require.ErrorContains(t, err, "names more than 16 regions")
	_, err = trace.Summarize(write(header + strings.Repeat("0,us,k,9007199254740992\n", 1100)))
	require.ErrorContains(t, err, "above 2^63")
}
