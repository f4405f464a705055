package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/verdict"
)

// JUnit writes results in the XML that CI systems read as that of JUnit, one test
// suite for each result: a test case for the verdict, one for each bucket's bound,
// and one for each expectation and invariant.
//
// What is FAIL is a failure. What is INCONCLUSIVE is an error: in JUnit's words a
// test that could not be carried out, which no CI system takes for a success. A
// check that was not exercised is skipped; where the run had to exercise it, the
// verdict is an error too. An expectation that was not met is an error when the
// verdict does not hold it against the system.
func JUnit(w io.Writer, results ...*result.Result) error {
	all := junitSuites{Name: "leasehold drill"}
	var took float64
	for _, r := range results {
		s := junitSuiteOf(r)
		all.Tests += s.Tests
		all.Failures += s.Failures
		all.Errors += s.Errors
		all.Skipped += s.Skipped
		took += r.Reproduction.Seconds
		all.Suites = append(all.Suites, s)
	}
	all.Time = junitTime(took)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

type junitSuites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	junitCounts
	Time   string       `xml:"time,attr"`
	Suites []junitSuite `xml:"testsuite"`
}

type junitCounts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

type junitSuite struct {
	Name string `xml:"name,attr"`
	junitCounts
	Time       string          `xml:"time,attr"`
	Timestamp  string          `xml:"timestamp,attr,omitempty"`
	Properties []junitProperty `xml:"properties>property"`
	Cases      []junitCase     `xml:"testcase"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitCase struct {
	Name      string       `xml:"name,attr"`
	ClassName string       `xml:"classname,attr"`
	Time      string       `xml:"time,attr"`
	Failure   *junitReason `xml:"failure,omitempty"`
	Error     *junitReason `xml:"error,omitempty"`
	Skipped   *junitReason `xml:"skipped,omitempty"`
	Out       string       `xml:"system-out,omitempty"`
}

type junitReason struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

func junitTime(seconds float64) string { return strconv.FormatFloat(seconds, 'f', 3, 64) }

// junitSuiteOf makes a suite of a result.
func junitSuiteOf(r *result.Result) junitSuite {
	p := r.Reproduction
	s := junitSuite{Name: "drill " + plain(r.Scenario.Name), Time: junitTime(p.Seconds)}
	if !p.Started.IsZero() {
		s.Timestamp = p.Started.UTC().Format("2006-01-02T15:04:05") // ISO 8601 without a zone, as the schema has it
	}
	for _, x := range []junitProperty{
		{"verdict", string(r.Verdict.Outcome)},
		{"version", p.Version},
		{"commit", p.Commit},
		{"seed", strconv.FormatUint(p.Seed, 10)},
		{"scenario.sha256", p.ScenarioSHA256},
		{"command", p.Command},
	} {
		s.Properties = append(s.Properties, junitProperty{x.Name, plain(x.Value)})
	}
	class := "drill." + strings.ReplaceAll(plain(r.Scenario.Name), " ", "-")
	s.add(verdictCase(r, class))
	for i, name := range r.BucketNames() {
		s.add(boundCase(name, &r.Overshoots[i], class+".bound"))
	}
	for _, c := range r.Hypotheses {
		s.add(checkCase(c, class+".expectation", verdict.Attributable(r)))
	}
	for _, c := range r.Invariants {
		s.add(checkCase(c, class+".invariant", true))
	}
	return s
}

// add counts a case.
func (s *junitSuite) add(c junitCase) {
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
	s.Cases = append(s.Cases, c)
}

func verdictCase(r *result.Result, class string) junitCase {
	c := junitCase{Name: "verdict", ClassName: class, Time: junitTime(r.Reproduction.Seconds), Out: plain(r.Verdict.Sentence)}
	reason := &junitReason{Message: plain(r.Verdict.Sentence), Type: string(r.Verdict.Outcome)}
	for _, line := range r.Verdict.Reasons {
		reason.Text += plain(line) + "\n"
	}
	switch r.Verdict.Outcome {
	case result.Pass:
	case result.Fail:
		c.Failure = reason
	case result.Inconclusive:
		c.Error = reason
	default:
		c.Error = reason
	}
	return c
}

func boundCase(name string, o *result.Overshoot, class string) junitCase {
	row := newBucketRow(name, o)
	c := junitCase{Name: plain(row.Name), ClassName: class, Time: junitTime(0)}
	c.Out = fmt.Sprintf("bound %s, observed %s, margin %s; %s admitted within %s, %s promised",
		count(o.Bound), comma(o.Observed), count(o.Margin), comma(o.Worst.Admitted), seconds(row.Length), comma(o.Worst.Promised))
	if o.Bound != nil && row.Closest > *o.Bound {
		c.Failure = &junitReason{Message: plural(row.Closest-*o.Bound, "token") + " beyond the bound", Type: string(result.Fail), Text: c.Out}
	}
	return c
}

// checkCase makes a case of a check; blame says whether it is a failure when it is
// broken.
func checkCase(x result.Check, class string, blame bool) junitCase {
	c := junitCase{Name: plain(x.Statement), ClassName: class, Time: junitTime(0)}
	if x.ID != "" {
		c.Name = plain(x.ID) + ": " + c.Name
	}
	if x.Expected != "" || x.Observed != "" {
		c.Out = "expected " + orAbsent(plain(x.Expected)) + ", observed " + orAbsent(plain(x.Observed))
	}
	switch x.Outcome {
	case result.Held:
	case result.Broken:
		if blame {
			c.Failure = &junitReason{Message: c.Out, Type: string(result.Fail)}
		} else {
			c.Error = &junitReason{Message: c.Out + "; it says nothing while the fault or the baseline is in doubt", Type: string(result.Inconclusive)}
		}
	case result.NotExercised:
		c.Skipped = &junitReason{Message: "not exercised"}
	default:
		c.Skipped = &junitReason{Message: fmt.Sprintf("no outcome: %q", x.Outcome)}
	}
	return c
}
