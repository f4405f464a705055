//go:build mutants

package chaos

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const tableBegins = "| mutant | law | noticed by | seeds |\n|---|---|---|---|\n"

// TestMutants breaks one law after the other, and wants each to be noticed.
func TestMutants(t *testing.T) {
	var rows strings.Builder
	rows.WriteString(tableBegins)
	for _, m := range Mutants {
		t.Run(m.Name, func(t *testing.T) {
			SetMutant(m.Name)
			defer SetMutant("")
			if m.Seeds == 0 {
				err := direct[m.Name]()
				require.Error(t, err)
				fmt.Fprintf(&rows, "| %s | %s | a direct check: %s | |\n", m.Name, m.Law, reason(err))
				return
			}
			draw, who := Draw, "the swarm"
			if m.Family != "" {
				draw, who = func(seed uint64) *Config { return Directed(m.Family, seed) }, "*"+m.Family+"*"
			}
			seed := uint64(1)
			var r Result
			for ; seed <= uint64(m.Seeds) && r.Failure == nil; seed++ {
				r = Play(draw(seed), false)
			}
			require.Error(t, r.Failure, "nobody noticed in %d seeds", m.Seeds)
			fmt.Fprintf(&rows, "| %s | %s | %s: %s | %d |\n", m.Name, m.Law, who, reason(r.Failure), seed-1)
		})
	}
	const file = "../docs/mutants.md"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	head, _, found := strings.Cut(string(text), tableBegins)
	require.True(t, found)
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(head+rows.String()), 0o644))
		return
	}
	for _, m := range Mutants {
		row := "| " + m.Name + " | " + m.Law + " | "
		if !strings.Contains(string(text), row) {
			t.Errorf("no row %q: run this test with -args -update", row)
		}
	}
}

// reason is the beginning of what a judge said.
func reason(err error) string {
	s := lawOf(err)
	if strings.HasPrefix(s, "the promise") || strings.HasPrefix(s, "liveness") || strings.HasPrefix(s, "panic") {
		return s
	}
	return "the judge of " + s
}

// TestNoMutantIsForgotten wants every place that can break a law to be in the
// table.
func TestNoMutantIsForgotten(t *testing.T) {
	known := map[string]bool{}
	for _, m := range Mutants {
		known[m.Name] = true
	}
	for _, dir := range []string{".", "../lease", "../reconcile"} {
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		for _, f := range files {
			if !strings.HasSuffix(f.Name(), ".go") || strings.HasPrefix(f.Name(), "mutants_test") {
				continue
			}
			text, err := os.ReadFile(dir + "/" + f.Name())
			require.NoError(t, err)
			for _, part := range strings.Split(string(text), "mutated(\"")[1:] {
				name, _, _ := strings.Cut(part, "\"")
				require.True(t, known[name], "%s/%s breaks a law that the table does not name: %s", dir, f.Name(), name)
			}
		}
	}
}
