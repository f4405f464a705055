package policy

import (
	"path/filepath"
	"testing"
)

// FuzzParse checks that Parse never panics, answers with errors that have a place, and that the canonical form
// of what it accepts means the same.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		f.Add(read(f, file))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := Parse("p", data)
		if err != nil {
			checkErrors(t, err)
			return
		}
		checkRoundTrip(t, set)
		set.Warnings(1, 1)
		for _, d := range set.Domains {
			for _, q := range d.Quotas {
				checkSane(t, q)
			}
		}
	})
}

// checkSane checks what no policy may say.
func checkSane(t *testing.T, q *Quota) {
	t.Helper()
	l, p := q.Limit, q.Partition
	if !l.Unbounded && (l.Tokens < 1 || l.Capacity() < 1) || l.Unbounded && l != (Limit{Unbounded: true}) {
		t.Errorf("limit %+v", l)
	}
	if k := int64(len(q.Regions)); k > 0 && (p.FloorTokens > l.Tokens/k || p.FloorBurst > l.Burst/k) || k == 0 && p.FloorTokens != 0 {
		t.Errorf("floors %+v of %v", p, l)
	}
	inexact := p.Mode == LocalFallback || p.Mode == FailOpen
	if bounded := inexact && !p.Unbounded; bounded != (p.Rate.Tokens > 0) || bounded != (p.Rate.Per > 0) || bounded != (p.Burst > 0) ||
		(p.Mode == LocalFallback) != (p.For > 0) || p.Unbounded && p.Mode != FailOpen {
		t.Errorf("unreserved %+v", p)
	}
	if q.MaxKeys < 1 || q.Lease.Size > l.Capacity() {
		t.Errorf("quota %+v", q)
	}
}
