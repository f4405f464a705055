package cli

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/engine"
)

// mark runs the command.
func mark(t *testing.T, args ...string) (code int, said string) {
	t.Helper()
	var out bytes.Buffer
	code = Run(t.Context(), NewRoot(), append([]string{"drill", "mark"}, args...), &out, &out)
	return code, out.String()
}

func TestAMarkReachesTheDrillThatWantsIt(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	code, said := mark(t, "--socket", socket, "cut eu")
	require.Equal(t, Failure, code)
	require.Contains(t, said, "no drill of a target runs here")

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	marks, err := hearMarks(ctx, socket, func(err error) { t.Error(err) })
	require.NoError(t, err)
	_, err = hearMarks(ctx, socket, nil)
	require.ErrorContains(t, err, "another drill of a target runs")

	got := make(chan engine.Mark, 1)
	go func() { got <- <-marks }()
	code, said = mark(t, "--socket", socket, "--healed", "eu is back")
	require.Equal(t, OK, code, said)
	require.Equal(t, engine.Mark{Text: "eu is back", Healed: true}, <-got)

	code, said = mark(t, "--socket", socket, "too late")
	require.Equal(t, Failure, code)
	require.Contains(t, said, "the drill did not take the mark", "nobody listens outside of the fault phase")

	code, _ = mark(t, "--socket", socket)
	require.Equal(t, Usage, code)
}
