//go:build mutants

package mutants

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// TestMutants runs a drill for each law that is broken in the binary, and one
// with the same binary and no law broken.
func TestMutants(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "leasehold")
	build := exec.Command("go", "build", "-tags", "mutants", "-o", binary, "../../../cmd/leasehold")
	said, err := build.CombinedOutput()
	require.NoError(t, err, string(said))
	for _, m := range []struct {
		mutant, drill string
		outcome       result.Outcome
		code          int
		invariant     string // one that is broken, beside or instead of the promise
		over          int64  // by how much the promise is exceeded, at the least
	}{
		{"", "one-way-in", result.Pass, 0, "", 0},
		{"credit at expiry", "isolate-quiet-region", result.Fail, 3, "", 50},
		{"a holder without deadlines", "one-way-in", result.Fail, 3, "deadlines-kept", 0},
		{"no fence at the store", "split-brain", result.Fail, 3, "epochs-rise", 100},
	} {
		t.Run(m.drill+" with "+m.mutant, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "result.json")
			cmd := exec.Command(binary, "drill", "run", m.drill, "--time-scale", "0.5", "--json", file, "--quiet")
			cmd.Env = append(os.Environ(), "LEASEHOLD_MUTANT="+m.mutant)
			said, err := cmd.CombinedOutput()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				require.NoError(t, err)
			}
			require.Equal(t, m.code, cmd.ProcessState.ExitCode(), string(said))
			f, err := os.Open(file)
			require.NoError(t, err)
			defer f.Close()
			r, err := result.Read(f)
			require.NoError(t, err)
			require.Equal(t, m.outcome, r.Verdict.Outcome, "%v", r.Verdict.Reasons)
			require.GreaterOrEqual(t, r.Overshoots[0].Observed, m.over)
			if m.invariant != "" {
				i := slices.IndexFunc(r.Invariants, func(c result.Check) bool { return c.ID == m.invariant })
				require.Equal(t, result.Broken, r.Invariants[i].Outcome)
			}
		})
	}
}
