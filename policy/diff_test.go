package policy

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func diffText(old, next *Set) string {
	var b strings.Builder
	for _, c := range Diff(old, next) {
		b.WriteString(c.Kind.String() + " " + c.String() + "\n")
	}
	return b.String()
}

func TestDiffInWords(t *testing.T) {
	old := mustParse(t, head+`
  - {name: algorithm, match: {}, limit: {tokens: 10, per: 1m}}
  - {name: burst, match: {}, limit: {tokens: 10, per: 1m, burst: 20}}
  - {name: cut, match: {}, limit: {tokens: 10, per: 1m, burst: 10}}
  - {name: freed, match: {}, limit: {tokens: 10, per: 1m}}
  - {name: gone, match: {old: "*"}, limit: {tokens: 1, per: 1m}}
  - {name: bound, match: {}, limit: {tokens: unbounded}}
  - {name: mode-exact, match: {}, limit: {tokens: 10, per: 1m}, partition: {mode: fail_closed}}
  - {name: mode-free, match: {}, limit: {tokens: 10, per: 1m}, partition: {mode: fail_open, ceiling: {tokens: 1, per: 1s}}}
  - {name: mode-longer, match: {}, limit: {tokens: 10, per: 1m}, partition: {mode: local_fallback, rate: {tokens: 1, per: 1s}, for: 1m}}
  - {name: mode-open, match: {}, limit: {tokens: 10, per: 1m}, partition: {mode: fail_closed}}
  - {name: mode-shut, match: {}, limit: {tokens: 10, per: 1m}, partition: {mode: fail_open, ceiling: unbounded}}
  - {name: month, match: {}, limit: {tokens: 10, per: month, algorithm: calendar_window, anchor_day: 3}}
  - {name: other, match: {a: b}, limit: {tokens: 10, per: 1m}, regions: {us: {}, eu: {weight: 2}}}
  - {name: same, match: {}, limit: {tokens: 10, per: 1m}}
  - {name: unit, match: {}, limit: {tokens: 10, per: 1m, burst: 5}}
  - {name: x-kept, match: {k: "*"}, limit: {tokens: 7, per: 1m}}
  - {name: x-old, match: {k: "*"}, limit: {tokens: 7, per: 1m}}
---
{apiVersion: leasehold/v1, domain: dropped, quotas: []}
`)
	next := mustParse(t, `
apiVersion: leasehold/v1
domain: api
unmatched: deny
quotas:
  - {name: algorithm, match: {}, limit: {tokens: 10, per: 1m, algorithm: fixed_window}}
  - {name: burst, match: {}, limit: {tokens: 11, per: 1m, burst: 15}}
  - {name: cut, match: {}, limit: {tokens: 10, per: 61s, burst: 10}}
  - {name: freed, match: {}, limit: {tokens: unbounded}}
  - {name: bound, match: {}, limit: {tokens: 1, per: 1m, burst: 1}}
  - {name: mode-exact, match: {}, limit: {tokens: 10, per: 1m}}
  - {name: mode-free, match: {}, limit: {tokens: 10, per: 1m}, partition: {mode: fail_open, ceiling: unbounded}}
  - {name: mode-longer, match: {}, limit: {tokens: 10, per: 1m}, partition: {mode: local_fallback, rate: {tokens: 1, per: 1s}, burst: 5, for: 2m}}
  - {name: mode-open, match: {}, limit: {tokens: 10, per: 1m}, partition: {mode: local_fallback, rate: {tokens: 5, per: 1m}, burst: 5, for: 10m}}
  - {name: mode-shut, match: {}, limit: {tokens: 10, per: 1m}, partition: {mode: fail_closed}}
  - {name: month, match: {}, limit: {tokens: 9, per: month, algorithm: calendar_window, anchor_day: 3}}
  - {name: new, match: {new: "*"}, limit: {tokens: 1, per: 1m}}
  - {name: other, match: {a: "*"}, limit: {tokens: 10, per: 1m}, lease: {ttl: 6s, size: 2}, partition: {floor: 50%, floor_lease: 1h}, regions: {us: {min: 1, max: 2}, ap: {}}, max_keys: 1}
  - {name: same, match: {}, limit: {tokens: 10, per: 60s}}
  - {name: unit, match: {}, limit: {tokens: 600, per: 1h, burst: 5}}
  - {name: x-kept, match: {k: "*"}, limit: {tokens: 7, per: 1m}}
  - {name: x-new, match: {k: "*"}, limit: {tokens: 7, per: 1m}}
---
{apiVersion: leasehold/v1, domain: fresh, quotas: []}
`)
	golden(t, "testdata/diff.yaml", diffText(old, next))
}

func TestDiffOfNothing(t *testing.T) {
	set := mustParse(t, head+"  - {name: q, match: {}, limit: {tokens: 10, per: 1m}}\n")
	equal(t, Diff(nil, nil), nil)
	equal(t, diffText(nil, set), "added api: domain added\nadded api/q: added (10 per 1m0s, burst 10)\n")
	equal(t, diffText(set, nil), "removed api: domain removed\nremoved api/q: removed (10 per 1m0s, burst 10)\n")
}

// TestDiffIsEmptyExactlyIfEqual draws small sets that often agree.
func TestDiffIsEmptyExactlyIfEqual(t *testing.T) {
	pick := func(t *rapid.T, of ...string) string { return rapid.SampledFrom(of).Draw(t, "x") }
	set := func(t *rapid.T) *Set {
		var b strings.Builder
		b.WriteString("apiVersion: leasehold/v1\ndomain: " + pick(t, "a", "a", "b") + "\nunmatched: " + pick(t, "allow", "allow", "deny") + "\nquotas:\n")
		b.WriteString("  - name: " + pick(t, "q", "q", "r"))
		b.WriteString("\n    match: " + pick(t, "{}", "{}", "{k: '*'}", `{k: '\*'}`, "{k: ''}"))
		limit := pick(t, "{tokens: 9, per: 1m}", "{tokens: 9, per: 60s, burst: 9}", "{tokens: 9, per: 1m, burst: 8}", "{tokens: 9, per: 1h, algorithm: fixed_window}", "{tokens: 9, per: month, algorithm: calendar_window}",
			"{tokens: 9, per: month, algorithm: calendar_window, anchor_day: 2}", "{tokens: 9, per: month, algorithm: calendar_window, zone: Europe/Berlin}", "{tokens: unbounded}")
		b.WriteString("\n    limit: " + limit)
		if !strings.Contains(limit, "unbounded") {
			b.WriteString("\n    lease: " + pick(t, "{}", "{}", "{ttl: 5s}", "{size: 1}", "{ttl: 6s}"))
			b.WriteString("\n    regions: " + pick(t, "{x: {}}", "{x: {weight: 1}}", "{x: {nodes: 2}}", "{x: {min: 1}}", "{x: {max: 1}}", "{x: {}, y: {}}"))
		}
		if strings.Contains(limit, "1m") {
			b.WriteString("\n    partition: " + pick(t, "{}", "{}", "{mode: fail_closed}", "{floor: 5%}", "{floor: 0%}", "{floor_lease: 11m}",
				"{mode: local_fallback, rate: {tokens: 1, per: 1s}, for: 1m}", "{mode: local_fallback, rate: {tokens: 1, per: 1s}, burst: 1, for: 60s}", "{mode: local_fallback, rate: {tokens: 2, per: 2s}, for: 1m}",
				"{mode: local_fallback, rate: {tokens: 1, per: 1s}, for: 2m}", "{mode: local_fallback, rate: {tokens: 1, per: 1s}, burst: 2, for: 1m}",
				"{mode: fail_open, ceiling: {tokens: 1, per: 1s}}", "{mode: fail_open, ceiling: unbounded}"))
		}
		s, err := Parse("p", []byte(b.String()+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	rapid.Check(t, func(t *rapid.T) {
		x, y := set(t), set(t)
		if equal := x.Equal(y); equal != (len(Diff(x, y)) == 0) || equal != (x.Fingerprint() == y.Fingerprint()) {
			t.Fatalf("equal is %v, but %v\n%s%s", equal, Diff(x, y), x.MarshalCanonical(), y.MarshalCanonical())
		}
	})
}

func TestWarnings(t *testing.T) {
	set := mustParse(t, head+`
  - {name: slow, match: {}, limit: {tokens: 1000, per: 1s, burst: 100}}
  - {name: just-enough, match: {}, limit: {tokens: 1000, per: 1s, burst: 500}}
  - {name: just-not, match: {}, limit: {tokens: 1000, per: 1s, burst: 499}}
  - {name: floors-carry-it, match: {}, limit: {tokens: 1000, per: 1s, burst: 100}, partition: {floor: 50%}, regions: {us: {}, eu: {}}}
  - {name: window, match: {}, limit: {tokens: 1, per: 1s, algorithm: fixed_window}}
  - {name: free, match: {}, limit: {tokens: unbounded}}
  - {name: small, match: {}, limit: {tokens: 100, per: 1h}, regions: {us: {}, eu: {nodes: 6}}}
  - {name: no-burst, match: {}, limit: {tokens: 100, per: 1s, burst: 60}, partition: {floor: 1%}, regions: {us: {}}}
  - {name: no-floor, match: {}, limit: {tokens: 1, per: 1h}, partition: {floor: 0%}, regions: {us: {}}}
  - {name: mode-most, match: {}, limit: {tokens: 1000, per: 1s}, partition: {mode: local_fallback, rate: {tokens: 500, per: 1s}, burst: 500, for: 10m}, regions: {us: {}, eu: {}}}
  - {name: mode-over, match: {}, limit: {tokens: 1000, per: 1s}, partition: {mode: local_fallback, rate: {tokens: 500, per: 1s}, burst: 501, for: 20m}, regions: {us: {}, eu: {}}}
  - {name: mode-alone, match: {}, limit: {tokens: 10, per: 1s}, partition: {mode: fail_open, ceiling: {tokens: 11, per: 1s}}}
  - {name: mode-window, match: {}, limit: {tokens: 100, per: 1m, algorithm: fixed_window}, partition: {mode: fail_open, ceiling: {tokens: 2, per: 1s}}}
  - {name: mode-huge, match: {}, limit: {tokens: 100, per: 1m}, partition: {mode: fail_open, ceiling: {tokens: 9007199254740992, per: 1ms}}, regions: {us: {nodes: 1000}}}
  - {name: mode-free, match: {}, limit: {tokens: 10, per: 1s}, partition: {mode: fail_open, ceiling: unbounded}}
  - {name: rare, match: {}, limit: {tokens: 19, per: 1h, algorithm: fixed_window}, regions: {us: {}}}
  - {name: short, match: {}, limit: {tokens: 1000, per: 299ms, algorithm: fixed_window}, regions: {us: {}}}
  - {name: long-enough, match: {}, limit: {tokens: 1000, per: 300ms, algorithm: fixed_window}, regions: {us: {}}}
`)
	var b strings.Builder
	for _, w := range set.Warnings(150*time.Millisecond, 100*time.Millisecond) {
		b.WriteString(w.String() + "\n")
	}
	golden(t, "testdata/warnings.yaml", b.String())
	// The figure of the remedy is right: with it there is no warning, with one less there is.
	equal(t, strings.Contains(b.String(), "a burst of 500 or more"), true)
	equal(t, len(set.Warnings(0, 0)), 3+5)
}

func TestLeasedThroughput(t *testing.T) {
	l := Limit{Tokens: 1000, Per: time.Second, Burst: 100}
	equal(t, l.LeasedThroughput(250*time.Millisecond), 400)
	equal(t, l.LeasedThroughput(time.Millisecond), 1000)
	equal(t, l.LeasedThroughput(0), 1000)
}

func TestCompareProducts(t *testing.T) {
	const big = int64(1) << 62
	equal(t, compareProducts(big, big, big, big-1), 1)
	equal(t, compareProducts(big, 2, 2, big), 0)
	equal(t, compareProducts(big, 3, big, 4), -1) // above 64 bits
	equal(t, compareProducts(0, big, 1, 1), -1)
}
