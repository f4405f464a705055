package report_test

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/a1009580/leasehold/chaos/drill/report"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/result/resulttest"
)

// stories are results as they come, and some that do not.
func stories() map[string]*result.Result {
	return map[string]*result.Result{
		"pass": resulttest.Pass(), "fail": resulttest.Fail(), "inconclusive": resulttest.Inconclusive(),
		"stopped": resulttest.Stopped(), "fallback": resulttest.Fallback(),
		"empty": {}, "hostile": hostile(), "long": long(), "unbounded": unbounded(), "twice": twice(),
	}
}

// attack is a text that must stay one.
const attack = `</code></pre><script>alert(1)</script><img src=//evil.example/x>"' onload='x` + "\x1b[31m\n\u202e"

// hostile is a result whose every text attacks.
func hostile() *result.Result {
	r := resulttest.Fail()
	r.Verdict.Sentence, r.Verdict.Reasons = attack, []string{attack, attack}
	r.Scenario.Name, r.Scenario.Purpose, r.Scenario.Source, r.Scenario.Policy = attack, attack, attack, attack
	r.Reproduction.Command, r.Reproduction.Version = attack, attack
	o := &r.Overshoots[0]
	o.Quota, o.Key, o.Mode, o.Promise, o.Formula, o.Inputs[0].Meaning = attack, attack, attack, attack, attack, attack
	r.Hypotheses[0].Statement, r.Hypotheses[0].Observed, r.Invariants[0].Expected = attack, attack, attack
	r.Hypotheses[1].Outcome = attack
	r.Faults[0].Name, r.Faults[0].Targets, r.Faults[0].Bite.Detail = attack, []string{attack}, attack
	r.Events[0].Text, r.Events[0].Source, r.Raw.Logs[0].Lines[0], r.Raw.Logs[0].Node = attack, attack, attack, attack
	r.Timeline.Regions[0].Region, r.Phases[0].Name, r.Latencies[0].Phase, r.Blast[0].Region = attack, attack, attack, attack
	r.Recovery[0].What, r.Topology.Nodes[0].Name = attack, attack
	return r
}

// long is a run of five minutes.
func long() *result.Result {
	r := resulttest.Pass()
	for i := range r.Timeline.Regions {
		l := &r.Timeline.Regions[i]
		for range 19 {
			n := 150
			l.Admitted, l.Denied, l.Failed = append(l.Admitted, l.Admitted[:n]...), append(l.Denied, l.Denied[:n]...), append(l.Failed, l.Failed[:n]...)
			l.Leased, l.Stranded = append(l.Leased, l.Leased[:n]...), append(l.Stranded, l.Stranded[:n]...)
		}
	}
	r.Timeline.Steps = 150 * 20
	return r
}

// twice is judged by two limits, of which the second came closer.
func twice() *result.Result {
	r := resulttest.Pass()
	o := r.Overshoots[0]
	o.Limit, o.Closest = "50 per 1s, burst 100", -3
	r.Overshoots = append(r.Overshoots, o)
	return r
}

func unbounded() *result.Result {
	r := resulttest.Fallback()
	r.Overshoots[0].Bound, r.Overshoots[0].SystemBound, r.Overshoots[0].Margin = nil, nil, nil
	return r
}

// pages are all HTML that the package writes.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	var entries []report.Entry
	for name, r := range stories() {
		var b bytes.Buffer
		require.NoError(t, report.HTML(&b, r), name)
		all[name] = b.String()
		entries = append(entries, report.Entry{Result: r, Report: name + ".html"})
	}
	for name, e := range map[string][]report.Entry{"index": entries, "empty index": nil} {
		var b bytes.Buffer
		require.NoError(t, report.Index(&b, e, []report.Unavailable{{Name: attack, Why: attack}}))
		all[name] = b.String()
	}
	return all
}

func TestTagsAreBalanced(t *testing.T) {
	void := map[string]bool{"meta": true, "link": true, "br": true, "img": true, "hr": true, "input": true}
	for name, page := range pages(t) {
		require.True(t, strings.HasPrefix(page, "<!DOCTYPE html>\n<html lang=\"en\">"), name)
		z := html.NewTokenizer(strings.NewReader(page))
		var open []string
		for {
			kind := z.Next()
			if kind == html.ErrorToken {
				require.ErrorIs(t, z.Err(), io.EOF, name)
				break
			}
			tag := z.Token()
			switch {
			case kind == html.StartTagToken && !void[tag.Data]:
				open = append(open, tag.Data)
			case kind == html.EndTagToken:
				require.NotEmpty(t, open, "%s: </%s>", name, tag.Data)
				require.Equal(t, open[len(open)-1], tag.Data, "%s: after %v", name, open)
				open = open[:len(open)-1]
			}
		}
		require.Empty(t, open, name)
	}
}

func TestNothingIsLoadedAndNothingRuns(t *testing.T) {
	for name, page := range pages(t) {
		require.False(t, strings.ContainsFunc(page, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }), name)
		walk(parse(t, page), func(n *html.Node) {
			require.NotContains(t, []string{"script", "iframe", "object", "embed", "img", "video", "audio", "form", "base", "source", "use", "image"}, n.Data, name)
			if n.Data == "style" {
				require.NotContains(t, n.FirstChild.Data, "url(", name)
				require.NotContains(t, n.FirstChild.Data, "@import", name)
			}
			for _, a := range n.Attr {
				require.False(t, strings.HasPrefix(a.Key, "on"), "%s: %s %s", name, n.Data, a.Key)
				require.NotContains(t, []string{"src", "srcset", "action", "poster", "data", "style", "background"}, a.Key, name)
				if a.Key == "href" {
					ok := n.Data == "link" && a.Val == "data:," || n.Data == "a" && strings.HasSuffix(a.Val, ".html") && !strings.Contains(a.Val, "/")
					require.True(t, ok, "%s: %s", name, a.Val)
				}
			}
		})
	}
}

func TestEveryFigureHasANameAndATable(t *testing.T) {
	for name, page := range pages(t) {
		var figures, tables int
		ids := map[string]bool{}
		var wanted []string
		walk(parse(t, page), func(n *html.Node) {
			id := attr(n, "id")
			require.False(t, id != "" && ids[id], "%s: two elements are %q", name, id)
			ids[id] = true
			switch {
			case n.Data == "svg" && !within(n.Parent, "svg"):
				require.Equal(t, figures, tables, "%s: a figure without a table after it", name)
				require.Equal(t, "img", attr(n, "role"), name)
				wanted = append(wanted, attr(n, "aria-labelledby"))
				figures++
			case n.Data == "table":
				if tables < figures {
					tables = figures
				}
				require.NotNil(t, find(n, "caption"), "%s: a table without a caption", name)
			case n.Data == "th":
				require.Contains(t, []string{"row", "col"}, attr(n, "scope"), name)
			case n.Data == "section":
				wanted = append(wanted, attr(n, "aria-labelledby"))
			}
		})
		require.Equal(t, figures, tables, name)
		for _, id := range wanted {
			require.True(t, ids[id], "%s: nothing is %q", name, id)
		}
	}
}

func TestTheOrderIsThatOfTheContract(t *testing.T) {
	var headings []string
	var b bytes.Buffer
	require.NoError(t, report.HTML(&b, resulttest.Pass()))
	walk(parse(t, b.String()), func(n *html.Node) {
		if n.Data == "h1" || n.Data == "h2" {
			headings = append(headings, n.Data+" "+attr(n, "id"))
		}
	})
	require.Equal(t, []string{
		"h1 ", "h2 bound", "h2 hypotheses", "h2 timeline", "h2 events", "h2 latency", "h2 blast",
		"h2 recovery", "h2 invariants", "h2 evidence", "h2 reproduction", "h2 raw",
	}, headings)
}

func TestTheResultIsInThePage(t *testing.T) {
	for name, r := range stories() {
		if name == "empty" {
			continue // it is no result that Read takes
		}
		var b bytes.Buffer
		require.NoError(t, report.HTML(&b, r))
		var text string
		walk(parse(t, b.String()), func(n *html.Node) {
			if attr(n, "id") == "result" {
				text = n.FirstChild.Data
			}
		})
		back, err := result.Read(strings.NewReader(text))
		require.NoError(t, err, name)
		var want, got bytes.Buffer
		require.NoError(t, r.Write(&want))
		require.NoError(t, back.Write(&got))
		require.Equal(t, want.String(), got.String(), name)
	}
}

func TestAReportIsReadAsTheResultThatItHolds(t *testing.T) {
	for name, r := range stories() {
		if name == "empty" {
			continue
		}
		var page, plain, want bytes.Buffer
		require.NoError(t, report.HTML(&page, r))
		require.NoError(t, r.Write(&plain))
		want.Write(plain.Bytes())
		for _, in := range []*bytes.Buffer{&page, &plain} {
			back, err := report.Read(in)
			require.NoError(t, err, name)
			var got bytes.Buffer
			require.NoError(t, back.Write(&got))
			require.Equal(t, want.String(), got.String(), name)
		}
	}
	for _, text := range []string{"<!DOCTYPE html>", `<code id="result">{}`, "", "{}", `<code id="result">{}</code>`} {
		_, err := report.Read(strings.NewReader(text))
		require.Error(t, err, text)
	}
}

func TestALongRunSaysThatItsRawDataAreAPart(t *testing.T) {
	var all, part bytes.Buffer
	require.NoError(t, report.HTML(&all, resulttest.Pass()))
	require.NoError(t, report.HTML(&part, long()))
	require.NotContains(t, strings.SplitN(all.String(), `id="result"`, 2)[0], "a part of all")
	require.Contains(t, strings.SplitN(part.String(), `id="result"`, 2)[0], "a part of all")
}

func TestTheVerdictIsSaidFirst(t *testing.T) {
	for name, r := range stories() {
		var b bytes.Buffer
		require.NoError(t, report.HTML(&b, r))
		h1 := find(parse(t, b.String()), "h1")
		require.NotNil(t, h1)
		var text strings.Builder
		walk(h1, func(n *html.Node) {
			if n.Type == html.TextNode && attr(n.Parent, "aria-hidden") == "" {
				text.WriteString(n.Data)
			}
		})
		if name != "hostile" {
			require.Equal(t, string(r.Verdict.Outcome)+r.Verdict.Sentence, text.String())
		}
	}
}

func TestALongRunStaysSmall(t *testing.T) {
	var b bytes.Buffer
	r := long()
	r.Raw = result.Raw{}
	require.NoError(t, report.HTML(&b, r))
	page, _, found := strings.Cut(b.String(), `<code id="result">`)
	require.True(t, found)
	require.Less(t, len(page), 200_000)
	require.Contains(t, page, `viewBox="0 0 429 1000"`)
	require.Less(t, strings.Count(page, "<tr"), 150)
}

func TestAResultThatCannotBeWrittenIsAnError(t *testing.T) {
	r := resulttest.Pass()
	r.Latencies[0].P50 = math.NaN()
	require.ErrorContains(t, report.HTML(io.Discard, r), "NaN")
	broken := fmt.Errorf("full")
	require.ErrorIs(t, report.HTML(failing{broken}, resulttest.Pass()), broken)
	require.ErrorIs(t, report.Index(failing{broken}, nil, nil), broken)
	require.ErrorIs(t, report.Text(failing{broken}, resulttest.Pass()), broken)
	require.ErrorIs(t, report.JUnit(failing{broken}, resulttest.Pass()), broken)
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func parse(t *testing.T, page string) *html.Node {
	t.Helper()
	n, err := html.Parse(strings.NewReader(page))
	require.NoError(t, err)
	return n
}

// walk visits a node and all below it, in the order of the document.
func walk(n *html.Node, visit func(*html.Node)) {
	visit(n)
	for c := n.FirstChild; c != nil; c = c.NextSibling {
		walk(c, visit)
	}
}

func find(n *html.Node, tag string) *html.Node {
	var found *html.Node
	walk(n, func(c *html.Node) {
		if found == nil && c.Type == html.ElementNode && c.Data == tag {
			found = c
		}
	})
	return found
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func within(n *html.Node, tag string) bool {
	for ; n != nil; n = n.Parent {
		if n.Type == html.ElementNode && n.Data == tag {
			return true
		}
	}
	return false
}
