package e2e

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"
)

// limited starts a coordinator with a policy and one region, us, and waits until
// that leases.
func limited(t *testing.T, policy string, extra ...string) *node {
	t.Helper()
	c := newCluster(t)
	require.NoError(t, os.WriteFile(c.policy, []byte(policy), 0o600))
	c.coordinator("", "--new-cluster")
	r := c.region("us", extra...)
	r.ready()
	return r
}

// program is a program that others wrote, by its path. What a test needs must be
// installed: it does not give up without it.
func program(t *testing.T, name, debian string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	require.NoError(t, err, "this test runs the real %s: on Debian, apt-get install %s", name, debian)
	return path
}

// readFile reads a file of the repository.
func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(text)
}
