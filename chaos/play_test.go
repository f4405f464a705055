package chaos

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write testdata and docs/mutants.md anew")

// TestPlays compares what happens with what testdata says: one file for each
// play, to be read from its first line to its last.
func TestPlays(t *testing.T) {
	for _, p := range plays {
		t.Run(p.name, func(t *testing.T) {
			text, err := p.perform()
			require.NoError(t, err)
			file := filepath.Join("testdata", p.name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
				return
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), text, "run go test ./chaos -run Plays -args -update if that is how it should be")
		})
	}
}
