package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// Write writes the result as one JSON object, with its Schema.
func (r *Result) Write(w io.Writer) error {
	c := *r
	c.Schema = Schema
	compact, err := json.Marshal(&c)
	if err != nil {
		return fmt.Errorf("drill result: %w", err)
	}
	_, err = w.Write(append(indent(compact), '\n'))
	return err
}

// Read reads what Write wrote. It returns an error for another version, for
// anything after the object, and for a result that does not fit together. Fields
// that are not known are passed over: a newer program may have added them.
func Read(r io.Reader) (*Result, error) {
	d := json.NewDecoder(r)
	var out Result
	if err := d.Decode(&out); err != nil {
		return nil, fmt.Errorf("drill result: %w", err)
	}
	if out.Schema != Schema {
		return nil, fmt.Errorf("drill result: schema %q: want %q", out.Schema, Schema)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("drill result: something follows the object")
	}
	if err := out.Validate(); err != nil {
		return nil, err
	}
	return &out, nil
}

// Validate says what does not fit together.
func (r *Result) Validate() error {
	if o := r.Verdict.Outcome; !slices.Contains([]Outcome{Pass, Fail, Inconclusive}, o) {
		return fmt.Errorf("drill result: verdict.outcome %q: must be PASS, FAIL or INCONCLUSIVE", o)
	}
	for i := range r.Timeline.Regions {
		if err := r.Timeline.check(&r.Timeline.Regions[i]); err != nil {
			return err
		}
	}
	return r.Raw.Admissions.check(len(r.Overshoots))
}

func (t *Timeline) check(l *RegionLine) error {
	for name, n := range map[string]int{
		"admitted": len(l.Admitted), "denied": len(l.Denied), "failed": len(l.Failed),
		"leased": len(l.Leased), "stranded": len(l.Stranded),
	} {
		if n != t.Steps {
			return fmt.Errorf("drill result: timeline of %s: %s has %d values, want %d", l.Region, name, n, t.Steps)
		}
	}
	return nil
}

func (a *Admissions) check(buckets int) error {
	n := len(a.Sent)
	if len(a.Received) != n || len(a.Cost) != n || len(a.Region) != n || len(a.Bucket) != n {
		return fmt.Errorf("drill result: raw.admissions: columns of %d, %d, %d, %d and %d values",
			n, len(a.Received), len(a.Cost), len(a.Region), len(a.Bucket))
	}
	for i := range n {
		if a.Region[i] < 0 || a.Region[i] >= len(a.Regions) || a.Bucket[i] < 0 || a.Bucket[i] >= buckets {
			return fmt.Errorf("drill result: raw.admissions: value %d: region %d or bucket %d does not exist", i, a.Region[i], a.Bucket[i])
		}
	}
	return nil
}
