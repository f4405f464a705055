package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/verdict"
)

//go:embed html
var files embed.FS

// HTML writes the report as one file. Its element with the id "result" holds the
// result itself, as JSON.
func HTML(w io.Writer, r *result.Result) error {
	p, err := newPage(r)
	if err != nil {
		return err
	}
	return render(w, "page", p)
}

// render executes a template. It is parsed each time: once a drill is often enough,
// and there is nothing to share.
func render(w io.Writer, name string, data any) error {
	t, err := template.New("").Funcs(funcs()).ParseFS(files, "html/*.tmpl")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(bytes.Map(visible, b.Bytes()))
	return err
}

// visible replaces what HTML does not allow at all: control characters, as a log
// may have them. (In the embedded JSON they are escaped.)
func visible(r rune) rune {
	if unicode.IsControl(r) && r != '\n' {
		return utf8.RuneError
	}
	return r
}

// page is what the template of a report is given.
type page struct {
	R         *result.Result
	Title     string
	Outcome   string
	Closest   *bucketRow
	WorstName string // what to call the interval of Closest
	Buckets   []bucketRow
	Bar       boundBar
	Timeline  timeline
	AnyFailed bool
	PhaseRows []phaseRow
	TimeRows  []timeRow
	Latency   latencies
	Blast     blastRadius
	Raw, Size string
	RawCount  int64 // admissions in the result
	RawPart   bool  // there were more
}

// bucketRow is a bucket with what templates cannot compute.
type bucketRow struct {
	result.Overshoot
	Name     string
	Length   float64
	Margin64 int64 // 0 without a margin
}

func newBucketRow(o *result.Overshoot) bucketRow {
	row := bucketRow{Overshoot: *o, Name: o.Quota, Length: o.Worst.ToSeconds - o.Worst.FromSeconds}
	if o.Key != "" {
		row.Name += " of " + o.Key
	}
	row.Closest = verdict.Over(o)
	if o.Margin != nil {
		row.Margin64 = *o.Margin
	}
	return row
}

func newPage(r *result.Result) (*page, error) {
	var raw bytes.Buffer
	if err := r.Write(&raw); err != nil {
		return nil, err
	}
	p := &page{
		R: r, Title: fmt.Sprintf("%s · %s · Leasehold drill", r.Verdict.Outcome, r.Scenario.Name), Outcome: string(r.Verdict.Outcome),
		Timeline: newTimeline(r), PhaseRows: phaseRows(r), TimeRows: timeRows(r),
		Latency: newLatencies(r), Blast: newBlastRadius(r),
		Raw: strings.TrimSuffix(raw.String(), "\n"), Size: humanize.IBytes(uint64(raw.Len())),
	}
	for i := range r.Overshoots {
		p.Buckets = append(p.Buckets, newBucketRow(&r.Overshoots[i]))
	}
	if o := closest(r); o != nil {
		row := newBucketRow(o)
		p.Closest, p.Bar, p.WorstName = &row, newBoundBar("bound-alt", o), worstName(o)
	}
	p.RawCount, p.RawPart = int64(len(r.Raw.Admissions.Sent)), rawIsPart(r)
	for _, l := range p.Timeline.Lanes {
		p.AnyFailed = p.AnyFailed || l.Failed != l.Denied
	}
	return p, nil
}

// rawIsPart says that the result holds fewer tokens in its raw admissions than its
// timeline counts: a long run keeps but a part of them.
func rawIsPart(r *result.Result) bool {
	var counted, kept int64
	for _, l := range r.Timeline.Regions {
		for _, n := range l.Admitted {
			counted += n
		}
	}
	for _, n := range r.Raw.Admissions.Cost {
		kept += n
	}
	return kept < counted
}

// worstName is what to call the interval that decides about a bucket.
func worstName(o *result.Overshoot) string {
	if verdict.Over(o) > 0 {
		return "worst interval"
	}
	return "closest interval"
}

func funcs() template.FuncMap {
	return template.FuncMap{
		"css": func() (template.CSS, error) {
			b, err := files.ReadFile("html/style.css")
			return template.CSS(b), err
		},
		"secs": seconds, "clock": clock, "comma": comma, "count": count, "rate": rate, "share": share, "signed": signed,
		"date":        func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04:05 UTC") },
		"join":        func(s []string) string { return strings.Join(s, ", ") },
		"plural":      func(n int, noun string) string { return plural(int64(n), noun) },
		"deref":       func(x *float64) float64 { return *x },
		"num":         func(p pc) float64 { return float64(p) },
		"plus":        func(a, b int) int { return a + b },
		"minus":       minus,
		"kind":        kindWord,
		"ratesHeight": func() int { return ratesHeight }, "heldHeight": func() int { return heldHeight },
	}
}

// minus subtracts pixels or percents.
func minus(a, b any) (any, error) {
	switch x := a.(type) {
	case int:
		if y, ok := b.(int); ok {
			return x - y, nil
		}
		if y, ok := b.(pc); ok {
			return pc(x) - y, nil
		}
	case pc:
		if y, ok := b.(pc); ok {
			return x - y, nil
		}
	}
	return nil, fmt.Errorf("cannot subtract %T from %T", b, a)
}

// kindWord introduces the text of an event whose text alone does not say what it is.
func kindWord(k result.EventKind) string {
	switch k {
	case result.EventInject:
		return "inject: "
	case result.EventHeal:
		return "heal: "
	case result.EventMark:
		return "mark: "
	case result.EventStop:
		return "stopped: "
	case result.EventPhase, result.EventSystem:
	}
	return ""
}
