package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMatchTwin compares the index with the definition: ask every quota about every entry.
func TestMatchTwin(t *testing.T) {
	keys, values := []string{"a", "b", "c", "d"}, []string{"", "*", `\*`, `\\*`, "x", "y"}
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString(head + "  []\n")
		n := rapid.IntRange(0, 12).Draw(t, "quotas")
		want := make(map[string]map[string]string) // quota, key, pattern
		if n > 0 {
			b.Reset()
			b.WriteString(head)
		}
		for i := range n {
			match := rapid.MapOfN(rapid.SampledFrom(keys), rapid.SampledFrom(values), 0, 4).Draw(t, "match")
			want[fmt.Sprintf("q%02d", i)] = match
			fmt.Fprintf(&b, "- name: q%02d\n  limit: {tokens: 1, per: 1m}\n  match: {", i)
			for k, v := range match {
				fmt.Fprintf(&b, "%s: '%s', ", k, v)
			}
			b.WriteString("}\n")
		}
		set, err := Parse("p", []byte(b.String()))
		if err != nil {
			t.Fatal(err)
		}
		request := rapid.MapOfN(rapid.SampledFrom(append(keys, "e")), rapid.SampledFrom([]string{"", "*", `\*`, "x", "z"}), 0, 5).Draw(t, "request")
		var desc []Pair
		for k, v := range request {
			desc = append(desc, Pair{k, v})
		}

		var expect []string
		for name, match := range want {
			ok := true
			for k, pattern := range match {
				v, present := request[k]
				exact := map[string]string{`\*`: "*", `\\*`: `\*`}[pattern]
				if exact == "" {
					exact = pattern
				}
				ok = ok && present && (pattern == "*" || v == exact)
			}
			if ok {
				expect = append(expect, name)
			}
		}
		slices.Sort(expect)
		matched, err := set.Domain("api").Match(desc, nil)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, m := range matched {
			got = append(got, m.Quota.Name)
		}
		if !slices.Equal(got, expect) {
			t.Fatalf("%v with %q: got %v, want %v", want, desc, got, expect)
		}
	})
}

// TestKeysCollideNever compares keys with the tuples of values that they stand for. The tuples are two cuts of
// one string, so that they often differ in nothing but where a value ends.
func TestKeysCollideNever(t *testing.T) {
	d := mustParse(t, head+`  - {name: q, match: {a: "*", b: "*", c: "*"}, limit: {tokens: 1, per: 1m}}`).Domain("api")
	parts := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "aa", "\x00", "\x01", "\x02", "\x80", "\n", "é", "e\u0301", "\xff", strings.Repeat("a", 127)}), 0, 5)
	rapid.Check(t, func(t *rapid.T) {
		whole := strings.Join(parts.Draw(t, "parts"), "")
		cut := func() []string {
			i := rapid.IntRange(0, len(whole)).Draw(t, "i")
			j := rapid.IntRange(i, len(whole)).Draw(t, "j")
			return []string{whole[:i], whole[i:j], whole[j:]}
		}
		key := func(v []string) string {
			m, err := d.Match([]Pair{{"c", v[2]}, {"a", v[0]}, {"b", v[1]}}, nil)
			if err != nil || len(m) != 1 {
				t.Fatal(m, err)
			}
			return m[0].Key
		}
		x, y := cut(), cut()
		if (key(x) == key(y)) != slices.Equal(x, y) {
			t.Fatalf("%q and %q: keys %q and %q", x, y, key(x), key(y))
		}
		if key(x) == OverflowKey {
			t.Fatal("the overflow bucket is no request's")
		}
	})
}

func keyOf(t testing.TB, d *Domain, value string) (string, error) {
	t.Helper()
	m, err := d.Match([]Pair{{"api_key", value}}, nil)
	if err != nil {
		equal(t, len(m), 0)
		return "", err
	}
	equal(t, len(m), 1)
	return m[0].Key, nil
}

func keyDomain(t testing.TB) *Domain {
	t.Helper()
	return mustParse(t, head+`  - {name: q, match: {api_key: "*"}, limit: {tokens: 1, per: 1m}}`).Domain("api")
}

// KEY-01: odd keys are distinct keys, NFC and NFD included; the longest are refused.
func TestKEY01OddKeys(t *testing.T) {
	seen := make(map[string]string)
	for _, v := range []string{"", " ", "a b", "a/b", "a:b", "../x", "\x00", "\n", "😀", "\u00e9", "e\u0301", "\u200f", "\xff\xfe", "*", `\*`} {
		key, err := keyOf(t, keyDomain(t), v)
		equal(t, err, nil)
		if other, ok := seen[key]; ok {
			t.Errorf("%q and %q share a bucket", v, other)
		}
		seen[key] = v
	}
	_, err := keyOf(t, keyDomain(t), strings.Repeat("x", 1<<20))
	equal(t, errors.Is(err, ErrKeyTooLong), true)
	// Absent is not empty.
	m, err := keyDomain(t).Match([]Pair{{"other", ""}}, nil)
	equal(t, err, nil)
	equal(t, len(m), 0)
}

// KEY-03: keys count to their last byte.
func TestKEY03NoTruncation(t *testing.T) {
	prefix := strings.Repeat("k", 40)
	a, _ := keyOf(t, keyDomain(t), prefix+strings.Repeat("a", 24))
	b, _ := keyOf(t, keyDomain(t), prefix+strings.Repeat("a", 23)+"b")
	equal(t, a == b, false)
}

// KEY-05: a key is at most 1 KiB in all, and a longer one is not even copied.
func TestKEY05LongKeys(t *testing.T) {
	d := keyDomain(t)
	key, err := keyOf(t, d, strings.Repeat("x", MaxKeyBytes-2)) // the length takes two bytes
	equal(t, err, nil)
	equal(t, len(key), MaxKeyBytes)
	for _, n := range []int{MaxKeyBytes - 1, MaxKeyBytes, MaxKeyBytes + 1, 64 << 10, 10 << 20} {
		_, err := keyOf(t, d, strings.Repeat("x", n))
		equal(t, errors.Is(err, ErrKeyTooLong), true)
	}
	huge := []Pair{{"api_key", strings.Repeat("x", 10<<20)}}
	dst := make([]byte, 3, 4096)
	got, err := AppendKey(dst, d.Quotas[0], huge)
	equal(t, errors.Is(err, ErrKeyTooLong), true)
	equal(t, len(got), 3)
	equal(t, cap(got), 4096)
}

func TestBadDescriptors(t *testing.T) {
	d := mustParse(t, head+"  - {name: q, match: {}, limit: {tokens: 1, per: 1m}}").Domain("api")
	old := []Matched{{Key: "kept"}}
	got, err := d.Match([]Pair{{"a", "1"}, {"b", "2"}, {"a", "3"}}, old)
	equal(t, errors.Is(err, ErrDuplicateEntry), true)
	equal(t, got, old)

	var many []Pair
	for i := range MaxDescriptor {
		many = append(many, Pair{fmt.Sprint(i), ""})
	}
	got, err = d.Match(many, old)
	equal(t, err, nil)
	equal(t, got, []Matched{{Key: "kept"}, {Quota: d.Quotas[0]}})
	_, err = d.Match(append(many, Pair{"x", ""}), nil)
	equal(t, errors.Is(err, ErrTooManyEntries), true)
}

// TestMatchAllocates checks the promise of the comments: nothing without Any entries, one string for each key
// else, nothing for who builds the keys in a buffer.
func TestMatchAllocates(t *testing.T) {
	d := mustParse(t, head+`
  - {name: a, match: {plan: free}, limit: {tokens: 1, per: 1m}}
  - {name: b, match: {}, limit: {tokens: 1, per: 1m}}
  - {name: c, match: {plan: free, user: "*"}, limit: {tokens: 1, per: 1m}}
`).Domain("api")
	with, without := []Pair{{"plan", "free"}, {"user", "someone"}}, []Pair{{"plan", "free"}}
	dst, quotas, buf := make([]Matched, 0, 8), make([]*Quota, 0, 8), make([]byte, 0, 64)
	for want, f := range map[float64]func(){
		0: func() { dst, _ = d.Match(without, dst[:0]) },
		1: func() { dst, _ = d.Match(with, dst[:0]) },
	} {
		equal(t, testing.AllocsPerRun(100, f), want)
	}
	equal(t, testing.AllocsPerRun(100, func() {
		quotas, _ = d.Matching(with, quotas[:0])
		for _, q := range quotas {
			buf, _ = AppendKey(buf[:0], q, with)
		}
	}), 0)
	equal(t, len(quotas), 3)
}

// TestIndexAsksFew checks that a domain with a quota for each of many customers does not ask all of them.
func TestIndexAsksFew(t *testing.T) {
	var b strings.Builder
	b.WriteString(head)
	for i := range 500 {
		fmt.Fprintf(&b, "  - {name: q%d, match: {plan: gold, customer: c%d, user: \"*\"}, limit: {tokens: 1, per: 1m}}\n", i, i)
	}
	d := mustParse(t, b.String()).Domain("api")
	for pair, quotas := range d.index.exact {
		if pair.Key != "customer" || len(quotas) != 1 {
			t.Fatal(pair, len(quotas))
		}
	}
	equal(t, len(d.index.exact), 500)
	equal(t, len(d.index.any)+len(d.index.always), 0)

	// An exact entry that two share says more than a key that any request may carry.
	d = mustParse(t, head+`
  - {name: q1, match: {account: "*", plan: gold}, limit: {tokens: 1, per: 1m}}
  - {name: q2, match: {plan: gold, user: "*"}, limit: {tokens: 1, per: 1m}}
`).Domain("api")
	equal(t, d.index.exact, map[Pair][]*Quota{{"plan", "gold"}: d.Quotas})
}

func TestRedact(t *testing.T) {
	equal(t, Redact("\x06secret"), "k:318da247")
	equal(t, Redact("\x06secret") == Redact("\x06Secret"), false)
	equal(t, Redact(OverflowKey), "k:overflow")
}

func BenchmarkMatch(b *testing.B) {
	var text strings.Builder
	text.WriteString(head)
	for i := range 500 {
		fmt.Fprintf(&text, "  - {name: q%d, match: {customer: c%d, user: \"*\"}, limit: {tokens: 1, per: 1m}}\n", i, i)
	}
	d := mustParse(b, text.String()).Domain("api")
	desc := []Pair{{"customer", "c250"}, {"user", "u"}}
	quotas, key := make([]*Quota, 0, 8), make([]byte, 0, 64)
	b.ReportAllocs()
	for b.Loop() {
		quotas, _ = d.Matching(desc, quotas[:0])
		key, _ = AppendKey(key[:0], quotas[0], desc)
	}
}
