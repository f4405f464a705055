package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// Entry is a line of an index.
type Entry struct {
	Result *result.Result
	// Report is the reference of the report, relative to the index; empty if there
	// is none.
	Report string
}

// Unavailable is a drill that could not be run here.
type Unavailable struct {
	Name string
	Why  string
}

// Index writes one HTML page over many results, what needs attention first. It is
// as self-contained as a report, but for the links to the reports.
func Index(w io.Writer, entries []Entry, not []Unavailable) error {
	p := indexPage{Not: not}
	for _, e := range entries {
		p.Rows = append(p.Rows, newIndexRow(e))
		switch e.Result.Verdict.Outcome {
		case result.Fail:
			p.Fail++
		case result.Pass:
			p.Pass++
		case result.Inconclusive:
			p.Inconclusive++
		default:
			p.Inconclusive++
		}
		p.Seconds += e.Result.Reproduction.Seconds
		if v := e.Result.Reproduction.Version; !slices.Contains(p.Versions, v) {
			p.Versions = append(p.Versions, v)
		}
	}
	slices.SortStableFunc(p.Rows, func(a, b indexRow) int {
		return cmp.Or(cmp.Compare(gravity(a.R), gravity(b.R)), strings.Compare(a.R.Scenario.Name, b.R.Scenario.Name))
	})
	p.Outcome, p.Sentence = p.sum()
	p.Title = p.Outcome + " · Leasehold drills"
	return render(w, "index", p)
}

// indexPage is what the template of an index is given.
type indexPage struct {
	Title, Outcome, Sentence string
	Pass, Fail, Inconclusive int
	Seconds                  float64
	Versions                 []string
	Rows                     []indexRow
	Not                      []Unavailable
}

type indexRow struct {
	R       *result.Result
	Outcome string
	Report  string
	Closest *bucketRow
}

func newIndexRow(e Entry) indexRow {
	row := indexRow{R: e.Result, Outcome: string(e.Result.Verdict.Outcome), Report: e.Report}
	if i := closest(e.Result); i >= 0 {
		b := newBucketRow(e.Result.BucketNames()[i], &e.Result.Overshoots[i])
		row.Closest = &b
	}
	return row
}

// gravity orders results: what is worse comes first.
func gravity(r *result.Result) int {
	switch r.Verdict.Outcome {
	case result.Fail:
		return 0
	case result.Pass:
		return 2
	case result.Inconclusive:
	}
	return 1
}

// sum is the verdict of all: that of the gravest.
func (p *indexPage) sum() (outcome, sentence string) {
	n := len(p.Rows)
	switch {
	case n == 0:
		return string(result.Inconclusive), "No drill was run."
	case p.Fail > 0:
		return string(result.Fail), fmt.Sprintf("%s of %s failed, %d passed, %d inconclusive.", comma(int64(p.Fail)), plural(int64(n), "drill"), p.Pass, p.Inconclusive)
	case p.Inconclusive > 0:
		return string(result.Inconclusive), fmt.Sprintf("%s of %s inconclusive, %d passed.", comma(int64(p.Inconclusive)), plural(int64(n), "drill"), p.Pass)
	case n == 1:
		return string(result.Pass), "The drill passed."
	default:
		return string(result.Pass), fmt.Sprintf("All %d drills passed.", n)
	}
}
