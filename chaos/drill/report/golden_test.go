package report_test

import (
	"bytes"
	"encoding/xml"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/report"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/result/resulttest"
)

var update = flag.Bool("update", false, "write testdata anew")

func TestGolden(t *testing.T) {
	for name, r := range map[string]*result.Result{
		"pass": resulttest.Pass(), "fail": resulttest.Fail(), "inconclusive": resulttest.Inconclusive(),
		"stopped": resulttest.Stopped(), "fallback": resulttest.Fallback(),
	} {
		for extension, write := range map[string]func(io.Writer, *result.Result) error{
			".txt": report.Text,
			".xml": func(w io.Writer, r *result.Result) error { return report.JUnit(w, r) },
		} {
			var b bytes.Buffer
			require.NoError(t, write(&b, r))
			file := filepath.Join("testdata", name+extension)
			if *update {
				require.NoError(t, os.WriteFile(file, b.Bytes(), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), b.String(), "run go test ./chaos/drill/report -args -update if that is how it should be")
		}
	}
}

func TestATerminalGetsNothingButText(t *testing.T) {
	for name, r := range stories() {
		var b bytes.Buffer
		require.NoError(t, report.Text(&b, r))
		for _, c := range b.String() {
			require.True(t, c == '\n' || unicode.IsPrint(c), "%s: %q", name, c)
		}
		for line := range strings.Lines(b.String()) {
			require.Equal(t, strings.TrimRight(line, " \n"), strings.TrimSuffix(line, "\n"), name)
		}
	}
}

// suite is a reader's view of JUnit's XML that shares nothing with the writer's.
type suite struct {
	Name      string `xml:"name,attr"`
	Tests     int    `xml:"tests,attr"`
	Failures  int    `xml:"failures,attr"`
	Errors    int    `xml:"errors,attr"`
	Skipped   int    `xml:"skipped,attr"`
	Timestamp string `xml:"timestamp,attr"`
	Cases     []struct {
		Name    string `xml:"name,attr"`
		Class   string `xml:"classname,attr"`
		Failure []struct {
			Message string `xml:"message,attr"`
		} `xml:"failure"`
		Error   []struct{} `xml:"error"`
		Skipped []struct{} `xml:"skipped"`
	} `xml:"testcase"`
}

func TestJUnitCountsWhatItHolds(t *testing.T) {
	var all []*result.Result
	for _, r := range stories() {
		all = append(all, r)
	}
	var b bytes.Buffer
	require.NoError(t, report.JUnit(&b, all...))
	require.NotContains(t, b.String(), "\x1b")
	var doc struct {
		Tests    int     `xml:"tests,attr"`
		Failures int     `xml:"failures,attr"`
		Errors   int     `xml:"errors,attr"`
		Skipped  int     `xml:"skipped,attr"`
		Suites   []suite `xml:"testsuite"`
	}
	require.NoError(t, xml.Unmarshal(b.Bytes(), &doc))
	require.Len(t, doc.Suites, len(all))
	var sum suite
	for i, s := range doc.Suites {
		var failures, errors, skipped int
		seen := map[string]bool{}
		for _, c := range s.Cases {
			failures += len(c.Failure)
			errors += len(c.Error)
			skipped += len(c.Skipped)
			require.LessOrEqual(t, len(c.Failure)+len(c.Error)+len(c.Skipped), 1)
			require.False(t, seen[c.Class+"/"+c.Name], "two cases are called %s", c.Name)
			seen[c.Class+"/"+c.Name] = true
		}
		require.Equal(t, []int{len(s.Cases), failures, errors, skipped}, []int{s.Tests, s.Failures, s.Errors, s.Skipped})
		require.Len(t, s.Cases, 1+len(all[i].Overshoots)+len(all[i].Hypotheses)+len(all[i].Invariants))
		require.Equal(t, all[i].Verdict.Outcome != result.Pass, failures+errors > 0, "%s: what is not PASS is red", s.Name)
		sum.Tests += s.Tests
		sum.Failures += s.Failures
		sum.Errors += s.Errors
		sum.Skipped += s.Skipped
	}
	require.Equal(t, []int{sum.Tests, sum.Failures, sum.Errors, sum.Skipped}, []int{doc.Tests, doc.Failures, doc.Errors, doc.Skipped})
}

func TestAnIndexPutsFirstWhatNeedsAttention(t *testing.T) {
	var entries []report.Entry
	for _, r := range []*result.Result{resulttest.Pass(), resulttest.Inconclusive(), resulttest.Fail()} {
		entries = append(entries, report.Entry{Result: r, Report: strings.ToLower(string(r.Verdict.Outcome)) + ".html"})
	}
	for _, c := range []struct {
		entries []report.Entry
		want    string
	}{
		{entries, "1 of 3 drills failed, 1 passed, 1 inconclusive."},
		{entries[:2], "1 of 2 drills inconclusive, 1 passed."},
		{entries[:1], "The drill passed."},
		{[]report.Entry{entries[0], entries[0]}, "All 2 drills passed."},
		{nil, "No drill was run."},
	} {
		var b bytes.Buffer
		require.NoError(t, report.Index(&b, c.entries, nil))
		require.Contains(t, b.String(), c.want)
	}
	var b bytes.Buffer
	require.NoError(t, report.Index(&b, entries, []report.Unavailable{{Name: "full-disk", Why: "no such build"}}))
	page := b.String()
	fail, unsure, pass := strings.Index(page, "fail.html"), strings.Index(page, "inconclusive.html"), strings.Index(page, "pass.html")
	require.True(t, 0 < fail && fail < unsure && unsure < pass, "%d, %d, %d", fail, unsure, pass)
	require.Contains(t, page, "no such build")
}
