package policy

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	_ "time/tzdata"

	"github.com/a1009580/leasehold/bucket"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestBadPolicies compares all problems of each bad policy with its golden file, a play to be read beside the
// policy. The YAML ones may name a position of their own, but never an empty message.
func TestBadPolicies(t *testing.T) {
	for _, file := range glob(t, "testdata/bad/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			set, err := Parse(filepath.Base(file), read(t, file))
			if set != nil {
				t.Fatal("a refused policy gives no set")
			}
			checkErrors(t, err)
			golden(t, file, err.Error()+"\n")
		})
	}
}

// TestGoodPolicies compares the meaning of each good policy, as the canonical form spells it out, with its
// golden file.
func TestGoodPolicies(t *testing.T) {
	for _, file := range glob(t, "testdata/good/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			set, err := Parse(filepath.Base(file), read(t, file))
			if err != nil {
				t.Fatal(err)
			}
			golden(t, file, string(set.MarshalCanonical()))
			checkRoundTrip(t, set)
		})
	}
}

// checkRoundTrip checks that the canonical form means the same, field by field.
func checkRoundTrip(t testing.TB, set *Set) {
	t.Helper()
	canonical := set.MarshalCanonical()
	again, err := Parse("canonical", canonical)
	if err != nil {
		t.Fatalf("%v in\n%s", err, canonical)
	}
	equal(t, string(again.MarshalCanonical()), string(canonical))
	equal(t, again.Fingerprint(), set.Fingerprint())
	equal(t, again.Equal(set), true)
	equal(t, len(Diff(set, again)), 0)
	equal(t, plainValues(again), plainValues(set))
}

// checkErrors checks that there is at least one error, and that they are in order.
func checkErrors(t testing.TB, err error) {
	t.Helper()
	var errs Errors
	if !errors.As(err, &errs) || len(errs) == 0 {
		t.Fatalf("%T %v, want Errors", err, err)
	}
	for i, e := range errs {
		if e.Line < 1 || e.Column < 1 || e.Message == "" || i > 0 && errs[i-1].Line > e.Line {
			t.Errorf("error %d has no place or is out of order: %v", i, e)
		}
	}
}

// plainValues are the exported values of a set without the positions, which are no part of its meaning.
func plainValues(s *Set) []Domain {
	var all []Domain
	for _, d := range s.Domains {
		plain := Domain{Name: d.Name, Unmatched: d.Unmatched}
		for _, q := range d.Quotas {
			c := *q
			c.File, c.Line, c.Column = "", 0, 0
			c.windows = bucket.Windows{} // compares zones by pointer
			c.rule = nil                 // leads back to the quota
			plain.Quotas = append(plain.Quotas, &c)
		}
		all = append(all, plain)
	}
	return all
}

// mustParse parses a good policy.
func mustParse(t testing.TB, policy string) *Set {
	t.Helper()
	set, err := Parse("policy.yaml", []byte(policy))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func equal[T any](t testing.TB, got, want T) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatal(pattern, err)
	}
	return files
}

func read(t testing.TB, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func golden(t *testing.T, file, got string) {
	t.Helper()
	file = strings.TrimSuffix(file, ".yaml") + ".golden"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	equal(t, got, string(read(t, file)))
}
