package policy

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/a1009580/leasehold/bucket"
	"pgregory.net/rapid"
)

const head = "apiVersion: leasehold/v1\ndomain: api\nquotas:\n"

// one parses a policy of one quota, given as the rest of a {mapping} after its name.
func one(t testing.TB, rest string) *Quota {
	t.Helper()
	return mustParse(t, head+"  - {name: q, "+rest+"}\n").Quota("api/q")
}

func TestDefaults(t *testing.T) {
	q := one(t, "match: {}, limit: {tokens: 1000, per: 1m}, regions: {us: {}, eu: {nodes: 3}}")
	equal(t, q.Limit, Limit{Tokens: 1000, Per: time.Minute, Burst: 1000})
	equal(t, q.Lease, Lease{TTL: 5 * time.Second})
	equal(t, q.Partition, Partition{Mode: LocalFloor, Floor: Fraction{1, 20}, FloorTokens: 50, FloorBurst: 50, FloorLease: 10 * time.Minute})
	equal(t, q.Regions, []Region{{Name: "eu", Weight: 1, Nodes: 3}, {Name: "us", Weight: 1, Nodes: 1}})
	equal(t, q.MaxKeys, 100_000)
	equal(t, []int{q.Line, q.Column}, []int{4, 5})

	set := mustParse(t, head+"  []\n")
	equal(t, set.Domain("api").Unmatched, Allow)
	equal(t, set.Domain("none"), nil)
	equal(t, set.Quota("api/none"), nil)
}

// Windows come out of the limit ready for use.
func TestWindowQuotas(t *testing.T) {
	set := mustParse(t, head+`
  - {name: a, match: {}, limit: {tokens: 5, per: 1h, algorithm: fixed_window}}
  - {name: b, match: {}, limit: {tokens: 5, per: month, algorithm: calendar_window, zone: Europe/Berlin, anchor_day: 31}}
  - {name: c, match: {}, limit: {tokens: 5, per: year, algorithm: calendar_window, zone: Europe/Berlin}}
`)
	fixed, err := bucket.FixedWindows(time.Hour)
	equal(t, err, nil)
	equal(t, set.Quota("api/a").Windows(), fixed)
	equal(t, set.Quota("api/a").Limit, Limit{Tokens: 5, Per: time.Hour, Algorithm: FixedWindow})
	b := set.Quota("api/b")
	equal(t, b.Limit, Limit{Tokens: 5, Algorithm: CalendarWindow, Unit: bucket.Month, Zone: "Europe/Berlin", AnchorDay: 31})
	equal(t, b.Partition, Partition{Mode: LocalFloor, FloorLease: 10 * time.Minute}) // no region is listed
	// CAL-01: the anchor on the 31st falls on the last day of a short month.
	start, end := b.Windows().Bounds(b.Windows().Index(time.Date(2027, 3, 5, 0, 0, 0, 0, time.UTC)))
	equal(t, start.Format(time.RFC3339), "2027-02-28T00:00:00+01:00")
	equal(t, end.Format(time.RFC3339), "2027-03-31T00:00:00+02:00")
	equal(t, set.Quota("api/c").Limit.AnchorDay, 0)
}

// Law 11: a window quota's floor is a part of its tokens, and has no burst.
func TestLaw11FloorsOfWindows(t *testing.T) {
	const regions = ", regions: {us: {nodes: 2}, eu: {}}"
	for limit, want := range map[string]int64{
		"{tokens: 1000, per: 1m, algorithm: fixed_window}":     25,
		"{tokens: 1000, per: day, algorithm: calendar_window}": 25,
		"{tokens: 39, per: 1m, algorithm: fixed_window}":       0,
		"{tokens: 39, per: day, algorithm: calendar_window}":   0,
	} {
		q := one(t, "match: {}, limit: "+limit+regions)
		equal(t, q.Partition.Mode, LocalFloor)
		tokens, burst := q.NodeFloor("us")
		equal(t, tokens, want)
		equal(t, burst, 0)
		var owned []string
		for _, f := range q.Terms().Floors {
			owned = append(owned, f.Region)
			equal(t, f.Burst, 0)
		}
		if want == 0 { // a part that rounds to 0 is no floor
			equal(t, strings.Join(owned, " "), "eu")
		} else {
			equal(t, strings.Join(owned, " "), "eu us us")
		}
	}
	closed := one(t, "match: {}, limit: {tokens: 1000, per: 1m, algorithm: fixed_window}, partition: {mode: fail_closed}"+regions)
	equal(t, len(closed.Terms().Floors), 0)
	half := one(t, "match: {}, limit: {tokens: 1000, per: 1m, algorithm: fixed_window}, partition: {floor: 50%, floor_lease: 1h}"+regions)
	equal(t, half.Partition.FloorTokens, 500)
	equal(t, half.Partition.FloorLease, time.Hour)
}

// OVF-05: a burst is never derived beyond its range, and every bound is inclusive.
func TestOVF05LargestLimit(t *testing.T) {
	q := one(t, "match: {}, limit: {tokens: 9007199254740992, per: 1ms}, partition: {floor: 100%}, regions: {us: {}}")
	equal(t, q.Limit.Burst, bucket.MaxTokens)
	equal(t, q.Partition.FloorTokens, bucket.MaxTokens)
	equal(t, q.Partition.FloorBurst, bucket.MaxTokens)
	for _, bad := range []string{"9223372036854775807", "inf", ".inf", "9007199254740993"} {
		for _, field := range []string{"tokens: " + bad, "tokens: 1, burst: " + bad} {
			_, err := Parse("p", []byte(head+"  - {name: q, match: {}, limit: {per: 1m, "+field+"}}\n"))
			if err == nil || !strings.Contains(err.Error(), "must be a whole number from 1 to 9007199254740992") {
				t.Errorf("%s: %v", field, err)
			}
		}
	}
}

// COST-09: a share of 0 is nothing; unlimited is a word. Bad values are in testdata/bad/tokens.yaml.
func TestCOST09ZeroIsNotUnlimited(t *testing.T) {
	q := one(t, "match: {}, limit: {tokens: 3, per: 1m}, regions: {a: {}, b: {}, c: {}, d: {}}")
	equal(t, q.Partition.FloorTokens, 0)
	equal(t, q.Partition.FloorBurst, 0)
	equal(t, q.Limit.Unbounded, false)
	tokens, burst := q.NodeFloor("a")
	equal(t, []int64{tokens, burst}, []int64{0, 0})

	tokens, burst = one(t, "match: {}, limit: {tokens: 100, per: 1m}, partition: {floor: 10%}, regions: {a: {nodes: 3}}").NodeFloor("elsewhere")
	equal(t, []int64{tokens, burst}, []int64{0, 0})

	q = one(t, "match: {}, limit: {tokens: unbounded}")
	equal(t, q.Limit, Limit{Unbounded: true})
	equal(t, q.Limit.Capacity(), 0)
	equal(t, q.MaxKeys, 100_000)
}

// CFG-09: what a region could not honour is refused for all, and a missing field never makes a rule vanish.
func TestCFG09InvalidIsRefusedWhole(t *testing.T) {
	good := "  - {name: good, match: {}, limit: {tokens: 1, per: 1m}}\n"
	for bad, want := range map[string]string{
		"{name: q, match: {}, limit: {tokens: 5}}":                                         "limit: per is missing",
		"{name: q, match: {}, limit: {per: 5s}}":                                           "limit: tokens is missing",
		"{name: q, match: {}}":                                                             "limit is missing",
		"{name: q, limit: {tokens: 1, per: 1m}}":                                           "match is missing",
		"{match: {}, limit: {tokens: 1, per: 1m}}":                                         "name is missing",
		"{name: q, match: {}, limit: {tokens: 1, per: 1ns}}":                               "limit.per: must be a duration from 1ms",
		"{name: q, match: {}, limit: {tokens: 1, per: 1m}, limits: {}}":                    `unknown field "limits"`,
		"{name: q, match: {}, limit: {tokens: 1, per: 1m}, lease: {ttl: 999ms}}":           "lease.ttl: must be a duration from 1s to 1m0s",
		"{name: q, match: {}, limit: {tokens: 1, per: 1m, zone: UTC}}":                     "limit.zone: only a calendar_window has one",
		"{name: good, match: {a: b}, limit: {tokens: 1, per: 1m}}":                         `"api/good" is already defined at 4:12`,
		"{name: q, match: {}, limit: {tokens: 1, per: 1m}, partition: {mode: local_floor ": "never closed",
	} {
		set, err := Parse("p", []byte(head+good+"  - "+bad+"\n"))
		if set != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", bad, err, want)
		}
	}
	// A document after an empty one is not dropped.
	doc := head + good
	set := mustParse(t, "---\n# nothing\n---\n---\n"+doc+"---\n---\n# nothing\n---\n"+strings.Replace(doc, "domain: api", "domain: web", 1))
	equal(t, len(set.Domains), 2)
}

// SYNC-13: quotas with one scope have an identity of their own.
func TestSYNC13SameScopeTwoQuotas(t *testing.T) {
	set := mustParse(t, head+`
  - {name: r1, match: {user: "*"}, limit: {tokens: 100, per: 1h}}
  - {name: r2, match: {user: "*"}, limit: {tokens: 5, per: 1m}}
`)
	got, err := set.Domain("api").Match([]Pair{{"user", "u"}}, nil)
	equal(t, err, nil)
	equal(t, got, []Matched{{set.Quota("api/r1"), "\x01u"}, {set.Quota("api/r2"), "\x01u"}})
	equal(t, got[0].Quota.ID, "api/r1")
	equal(t, got[1].Quota.ID, "api/r2")
}

// FAIL-09: what a mistyped name gets is in the policy and visible: no domain, no quota, and allow or deny.
func TestFAIL09Unknown(t *testing.T) {
	set := mustParse(t, strings.Replace(head, "quotas:", "unmatched: deny\nquotas:", 1)+"  - {name: q, match: {a: b}, limit: {tokens: 1, per: 1m}}\n")
	equal(t, set.Domain("apy"), nil)
	equal(t, set.Domain("api").Unmatched, Deny)
	got, err := set.Domain("api").Match([]Pair{{"a", "c"}}, nil)
	equal(t, err, nil)
	equal(t, len(got), 0)
}

func TestFingerprintIsOfTheMeaning(t *testing.T) {
	a := mustParse(t, `apiVersion: leasehold/v1
domain: api
quotas:
  - {name: a, match: {x: "1", y: "*"}, limit: {tokens: 1000, per: 1m}, regions: {us: {}, eu: {}}}
  - {name: b, match: {}, limit: {tokens: 5, per: 1h}}
---
apiVersion: leasehold/v1
domain: web
quotas: []
`)
	b := mustParse(t, `# The same, otherwise.
domain: "web"
apiVersion: 'leasehold/v1'
unmatched: allow
quotas: []
---
apiVersion: leasehold/v1
quotas:
- limit: {per: 60m, tokens: 5, burst: 5}
  name: b
  match: {}
  max_keys: 100_000
-
  name: a
  match:
    y: '*'   # any
    x: "\u0031"
  limit: {tokens: 1_000, per: 60s, algorithm: token_bucket}
  partition: {floor: 5.00%}
  regions: {eu: {weight: 1}, us: {nodes: 1}}
domain: api
`)
	equal(t, a.Fingerprint(), b.Fingerprint())
	equal(t, a.Equal(b), true)
	equal(t, Diff(a, b), nil)
	c := mustParse(t, strings.Replace(string(a.MarshalCanonical()), "1000", "1001", 1))
	equal(t, a.Fingerprint() == c.Fingerprint(), false)
	equal(t, a.Equal(c), false)
}

// The canonical form may be longer than the text. It has the same bound, because it is what is stored and sent.
func TestCanonicalFormIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString(head)
	for i := range 9000 {
		b.WriteString("- {name: q")
		b.WriteString(strings.Repeat("x", i%30) + string(rune('a'+i/30%26)) + string(rune('a'+i/780)))
		b.WriteString(", match: {}, limit: {tokens: 1, per: 1m}}\n")
	}
	_, err := Parse("p", []byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "in canonical form") {
		t.Fatalf("%.200v", err)
	}
}

func TestBounds(t *testing.T) {
	many := func(n int, format string) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(format, i))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	for rest, want := range map[string]string{
		"match: " + many(16, "k%d: x"):                  "",
		"match: " + many(17, "k%d: x"):                  "match: has 17 entries; the most is 16",
		"match: {k: " + strings.Repeat("x", 1024) + "}": "",
		"match: {k: " + strings.Repeat("x", 1025) + "}": "match.k: has 1025 bytes; the most is 1024",
		"match: {" + strings.Repeat("k", 64) + ": x}":   "",
		"match: {" + strings.Repeat("k", 65) + ": x}":   "match: must be 1 to 64 of the characters",

		"match: {'': x}": "match: must be 1 to 64 of the characters",
		"match: {ké: x}": "match: must be 1 to 64 of the characters",
		"match: {1: x}":  "the key 1 must be a string: put it in quotes",

		"match: {}, regions: " + many(64, "r%d: {}"): "",
		"match: {}, regions: " + many(65, "r%d: {}"): "regions: 65 are listed; the most is 64",
		"match: {}, regions: []":                     "regions: must be a mapping, not a list",
		"match: {}, lease: []":                       "lease: must be a mapping, not a list",
		"match: {}, partition: null":                 "partition: must be a mapping, not null",
		"match: {}, max_keys: 10000000":              "",
		"match: {}, max_keys: 10000001":              "max_keys: must be a whole number from 1 to 10000000",
		"match: {}, lease: {ttl: 1m, size: 9}":       "",
		"match: {}, lease: {size: 10}":               "lease.size: 10 is above the 9 that the limit can hold at once",
		"match: {}, regions: {a: {weight: 1000000, nodes: 1000, max: 9007199254740992}}": "",
		"match: {}, regions: {a: {weight: 1000001}}":                                     "regions.a.weight: must be a whole number from 1 to 1000000",
		"match: {}, partition: {floor_lease: 24h}":                                       "",
		"match: {}, partition: {floor_lease: 24h1s}":                                     "partition.floor_lease: must be a duration from 10s to 24h0m0s",
	} {
		_, err := Parse("p", []byte(head+"  - {name: q, limit: {tokens: 9, per: 1m}, "+rest+"}\n"))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%.60s: %v, want %s", rest, err, want)
		}
	}
}

// TestAnyValueSurvives checks that a value of any characters means itself, in the file and in canonical form.
func TestAnyValueSurvives(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.StringN(0, 40, 1024), rapid.StringMatching(`\\*\*?`)).Draw(t, "value")
		e := Entry{Key: "k", Value: value}
		set, err := Parse("p", []byte(head+"  - {name: q, match: {k: "+literal(e.pattern())+"}, limit: {tokens: 1, per: 1m}}\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got := set.Quota("api/q").Match[0]; got != e {
			t.Fatalf("got %q, want %q", got.Value, value)
		}
		again, err := Parse("canonical", set.MarshalCanonical())
		if err != nil || !again.Equal(set) {
			t.Fatalf("%v in %s", err, set.MarshalCanonical())
		}
	})
}

func TestParsePercent(t *testing.T) {
	for s, want := range map[string]string{
		"10%": "10%", "2.5%": "2.5%", "0%": "0%", "0.0%": "0%", "100%": "100%", "100.0%": "100%", "33.333333%": "33.333333%", "0.000001%": "0.000001%",
		"05%": "5%", "": "", "%": "", "5": "", "5 %": "", "-5%": "", "+5%": "", "5.%": "", ".5%": "", "1e1%": "", "1_0%": "", "101%": "", "100.000001%": "", "0.0000001%": "", "NaN%": "", "1.2.3%": "", "0000%": "",
	} {
		f, ok := parsePercent(s)
		if ok != (want != "") || ok && f.String() != want {
			t.Errorf("%q: %v %v, want %q", s, f, ok, want)
		}
	}
}

func TestDefaultFloor(t *testing.T) {
	for k, want := range map[int64]string{0: "0%", 1: "5%", 2: "5%", 10: "5%", 11: "50%/11", 20: "2.5%", 64: "0.78125%"} {
		equal(t, defaultFloor(k).String(), want)
		if sum := defaultFloor(k).times(k); 2*sum.Num > sum.Den {
			t.Errorf("%d floors add up to %v", k, sum)
		}
	}
}

func TestFloorsAreRoundedDown(t *testing.T) {
	q := one(t, "match: {}, limit: {tokens: 999, per: 1m, burst: 70}, partition: {floor: 33.333333%}, regions: {a: {nodes: 4}, b: {}, c: {}}")
	equal(t, q.Partition.FloorTokens, 332)
	equal(t, q.Partition.FloorBurst, 23)
	tokens, burst := q.NodeFloor("a")
	equal(t, []int64{tokens, burst}, []int64{83, 5})
}
