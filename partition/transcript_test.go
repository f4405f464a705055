package partition_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the transcripts")

// TestTranscripts plays each script in testdata: what stands before the bar happens, the
// rest is what became of the link.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			var script []string
			for _, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
				input, _, _ := strings.Cut(line, "|")
				if !strings.HasPrefix(line, "#") {
					input = strings.TrimSpace(input)
				}
				script = append(script, input)
			}
			got := play(t, strings.Join(script, "\n"))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o600))
			}
			require.Equal(t, string(text), got)
		})
	}
}
