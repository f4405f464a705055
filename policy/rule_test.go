package policy

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func pairs(kv ...string) (desc []Pair) {
	for i := 0; i < len(kv); i += 2 {
		desc = append(desc, Pair{kv[i], kv[i+1]})
	}
	return desc
}

// ruleID is the quota that a descriptor leads to, "deny", or "".
func ruleID(t testing.TB, d *Domain, desc []Pair) string {
	t.Helper()
	r, err := d.Rule(desc)
	switch {
	case err != nil:
		t.Fatal(err)
	case r == nil:
		return ""
	case r.Deny:
		return "deny"
	}
	return r.Quota.Name
}

func TestTheMostSpecificRuleOfTheWholePathApplies(t *testing.T) {
	set := mustParse(t, string(read(t, "testdata/good/descriptors.yaml")))
	shop, wild := set.Domain("shop/eu/http"), set.Domain("wild")
	for _, c := range []struct {
		domain *Domain
		desc   []Pair
		want   string
	}{
		{shop, pairs("message_type", "marketing", "to_number", "1"), "message_type.marketing..to_number..day"},
		{shop, pairs("to_number", "1"), "to_number..day"},
		{shop, pairs("message_type", "marketing"), ""},
		{shop, pairs("message_type", "other", "to_number", "1"), ""},
		{shop, pairs("to_number", "1", "message_type", "marketing"), ""},
		{shop, pairs("to_number", "1", "more", "1"), ""},
		{shop, pairs("remote_address", "50.0.0.4"), "remote_address..second"},
		{shop, pairs("remote_address", "50.0.0.5"), "deny"},
		{shop, pairs("remote_address", "50.0.0.6"), ""},
		{shop, pairs("remote_address", ""), "remote_address..second"},
		{shop, pairs("port", "8080"), "port.8080..minute"},
		{shop, pairs("port", "08080"), ""},
		{shop, pairs("secure", "true"), "secure.true..hour"},
		{shop, nil, ""},
		{wild, pairs("path", "/files/a"), "path.-files--ef2b1a0d..month"},
		{wild, pairs("path", "/file"), "path.-c18d1ffd..year"},
		{wild, pairs("path", "/file", "path", "again"), "path...path.again-b51d5a1e..minute"},
		{wild, pairs("path", "/files/a", "path", "again"), ""},
	} {
		got := ruleID(t, c.domain, c.desc)
		if hash := strings.Index(c.want, "-"); hash < 0 && got != c.want || hash >= 0 && (len(got) != len(c.want) || !strings.HasPrefix(got, c.want[:hash])) {
			t.Errorf("%v: got %q, want %q", c.desc, got, c.want)
		}
	}
}

func TestKEY_RulesTellBucketsApartByTheirOpenValuesAlone(t *testing.T) {
	set := mustParse(t, `{domain: d, descriptors: [
    {key: a, descriptors: [{key: b, rate_limit: {unit: minute, requests_per_unit: 1}}]},
    {key: p, value: "x*", rate_limit: {unit: minute, requests_per_unit: 1}},
    {key: s, value: "x*", share_threshold: true, rate_limit: {unit: minute, requests_per_unit: 1}},
    {key: e, value: x, rate_limit: {unit: minute, requests_per_unit: 1}}]}`)
	d := set.Domain("d")
	key := func(kv ...string) string {
		r, err := d.Rule(pairs(kv...))
		if err != nil || r == nil {
			t.Fatal(kv, r, err)
		}
		k, err := AppendRuleKey(nil, r, pairs(kv...))
		if err != nil {
			t.Fatal(err)
		}
		return r.Quota.ID + ":" + string(k)
	}
	different := map[string][]string{}
	for _, kv := range [][]string{
		{"a", "1", "b", "2"},
		{"a", "12", "b", ""},
		{"a", "", "b", "12"},
		{"a", "1_b", "b", "2"},
		{"a", "\xff\x00", "b", "\u00e9"},
		{"a", "\xff\x00", "b", "e\u0301"},
		{"p", "x"},
		{"p", "x1"},
		{"e", "x"},
		{"s", "x"},
	} {
		k := key(kv...)
		if other := different[k]; other != nil {
			t.Errorf("%q and %q have one bucket", kv, other)
		}
		different[k] = kv
	}
	equal(t, key("s", "x1"), key("s", "xyz"))
	long := pairs("a", strings.Repeat("x", 600), "b", strings.Repeat("y", 600))
	r, _ := d.Rule(long)
	if _, err := AppendRuleKey(nil, r, long); !errors.Is(err, ErrKeyTooLong) {
		t.Error(err)
	}
	if _, err := d.Rule(make([]Pair, MaxDescriptor+1)); !errors.Is(err, ErrTooManyEntries) {
		t.Error(err)
	}
}

// What no rule has as such goes another way: those who know no order get the one that leads to a rule.
func TestArrangeFindsTheOrderThatLeadsToARule(t *testing.T) {
	d := mustParse(t, string(read(t, "testdata/good/descriptors.yaml"))).Domain("shop/eu/http")
	want := pairs("message_type", "marketing", "to_number", "1")
	stray := pairs("to_number", "1", "message_type", "marketing", "x", "y")
	for _, c := range []struct{ from, want []Pair }{
		{pairs("to_number", "1", "message_type", "marketing"), want}, {want, want}, {stray, stray},
	} {
		got, err := d.Arrange(c.from)
		equal(t, err, nil)
		equal(t, got, c.want)
	}
	if _, err := d.Arrange(pairs("to_number", "1", "message_type", "marketing", "to_number", "2")); !errors.Is(err, ErrDuplicateEntry) {
		t.Errorf("it would lead past the rule: %v", err)
	}
	if _, err := d.Arrange(make([]Pair, MaxDescriptor+1)); !errors.Is(err, ErrTooManyEntries) {
		t.Error(err)
	}
}

// The tree agrees with a search through all paths that shares no code with it.
func TestRulesAgreeWithASlowSearch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		paths, text := drawRules(t)
		set, err := Parse("p", []byte(text))
		if err != nil {
			t.Fatal(err, text)
		}
		var desc []Pair
		for range rapid.IntRange(0, 3).Draw(t, "entries") {
			desc = append(desc, Pair{rapid.SampledFrom([]string{"k", "l"}).Draw(t, "key"), rapid.SampledFrom([]string{"", "a", "ab", "b"}).Draw(t, "value")})
		}
		got := ruleIDs(t, set.Domain("d"), desc)
		if want := slowly(paths, desc); got != want {
			t.Fatalf("%v in\n%s\ngot %d, want %d", desc, text, got, want)
		}
	})
}

// ruleIDs is the limit of the rule, which names it; 0 if there is none.
func ruleIDs(t *rapid.T, d *Domain, desc []Pair) int64 {
	r, err := d.Rule(desc)
	if err != nil {
		t.Fatal(err)
	}
	if r == nil {
		return 0
	}
	return r.Requests
}

type drawnPlace struct {
	key, value string
	limit      int64
	below      []*drawnPlace
}

func drawRules(t *rapid.T) ([]*drawnPlace, string) {
	n := int64(0)
	var draw func(depth int) []*drawnPlace
	draw = func(depth int) (all []*drawnPlace) {
		seen := map[string]bool{}
		for range rapid.IntRange(0, 4).Draw(t, "places") {
			p := &drawnPlace{key: rapid.SampledFrom([]string{"k", "l"}).Draw(t, "key"), value: rapid.SampledFrom([]string{"", "a", "a*", "*", "ab", "b*"}).Draw(t, "value")}
			if seen[p.key+" "+p.value] {
				continue
			}
			seen[p.key+" "+p.value] = true
			if rapid.Bool().Draw(t, "limited") {
				n++
				p.limit = n
			}
			if depth > 0 {
				p.below = draw(depth - 1)
			}
			all = append(all, p)
		}
		return all
	}
	all := draw(2)
	var text strings.Builder
	text.WriteString("{domain: d, descriptors: [")
	var write func(all []*drawnPlace)
	write = func(all []*drawnPlace) {
		for i, p := range all {
			if i > 0 {
				text.WriteString(", ")
			}
			fmt.Fprintf(&text, "{key: %s, value: %q", p.key, p.value)
			if p.limit > 0 {
				fmt.Fprintf(&text, ", rate_limit: {unit: minute, requests_per_unit: %d}", p.limit)
			}
			text.WriteString(", descriptors: [")
			write(p.below)
			text.WriteString("]}")
		}
	}
	write(all)
	text.WriteString("]}")
	return all, text.String()
}

// slowly takes the best of all siblings that match, one step after the other.
func slowly(all []*drawnPlace, desc []Pair) int64 {
	if len(desc) == 0 {
		return 0
	}
	var best *drawnPlace
	rank := 0
	for _, p := range all {
		r := 0
		switch e := desc[0]; {
		case p.key != e.Key:
		case p.value == "":
			r = 1
		case strings.HasSuffix(p.value, "*") && strings.HasPrefix(e.Value, strings.TrimSuffix(p.value, "*")):
			r = 2
		case p.value == e.Value:
			r = 3
		}
		if r > rank {
			best, rank = p, r
		}
	}
	switch {
	case best == nil:
		return 0
	case len(desc) == 1:
		return best.limit
	}
	return slowly(best.below, desc[1:])
}

func TestUnitsAreThoseOfTheServerThatPeopleComeFrom(t *testing.T) {
	want := []time.Duration{0, time.Second, time.Minute, time.Hour, 24 * time.Hour, 168 * time.Hour, 720 * time.Hour, 8760 * time.Hour, 0}
	for u, length := range want {
		equal(t, Unit(u).Length(), length)
	}
	equal(t, parseUnit("MiNuTe"), Minute)
	equal(t, parseUnit("none"), Unit(0))
}

func TestAChangeOfRulesIsToldAlsoIfNoLimitChanges(t *testing.T) {
	const base = "{domain: d, descriptors: [{key: k, rate_limit: {unit: minute, requests_per_unit: %s}%s}]}"
	before := mustParse(t, fmt.Sprintf(base, "5", ""))
	for text, kind := range map[string]ChangeKind{
		fmt.Sprintf(base, "5", ", shadow_mode: true"): Changed,
		fmt.Sprintf(base, "6", ""):                    Raised,
		"{domain: d, descriptors: [{key: k, rate_limit: {name: n, unit: minute, requests_per_unit: 5}}]}": Changed,
		"{apiVersion: leasehold/v1, domain: d, quotas: []}":                                               Changed,
	} {
		changes := Diff(before, mustParse(t, text))
		found := false
		for _, c := range changes {
			found = found || c.Kind == kind
		}
		if !found {
			t.Errorf("%s: %v", text, changes)
		}
	}
}

func TestADomainIsInOneFileOnly(t *testing.T) {
	a := []byte("{domain: d, descriptors: []}")
	_, err := ParseFiles([]File{{"a.yaml", a}, {"b.yaml", []byte("{domain: e, descriptors: []}")}, {"c.yaml", a}, {"e.yaml", []byte("x")}})
	if err == nil || err.Error() != "c.yaml:1:10: domain: \"d\" is already defined in a.yaml\ne.yaml:1:1: must be a mapping, not x" {
		t.Error(err)
	}
	set, err := ParseFiles([]File{{"a.yaml", a}, {"b.yaml", []byte("{domain: e, descriptors: []}")}})
	if err != nil || len(set.Domains) != 2 {
		t.Error(set, err)
	}
}
