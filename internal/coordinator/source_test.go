package coordinator

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/policy"
)

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
}

const oneRule = "domain: %s\ndescriptors:\n- key: k\n  rate_limit: {unit: minute, requests_per_unit: %d}\n"

func TestADirectoryIsReadFileByFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"b.yaml": fmt.Sprintf(oneRule, "b", 2), "a.yml": fmt.Sprintf(oneRule, "a", 1),
		".hidden.yaml": "no policy", "README.md": "no policy", "c.yaml.bak": "no policy",
	})
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub.yaml"), 0o700))
	// As Kubernetes mounts a ConfigMap.
	require.NoError(t, os.Mkdir(filepath.Join(dir, "..2026"), 0o700))
	write(t, filepath.Join(dir, "..2026"), map[string]string{"c.yaml": fmt.Sprintf(oneRule, "c", 3)})
	require.NoError(t, os.Symlink("..2026", filepath.Join(dir, "..data")))
	require.NoError(t, os.Symlink("..data/c.yaml", filepath.Join(dir, "c.yaml")))

	data, err := ReadPolicy(dir)
	require.NoError(t, err)
	set, err := ParsePolicy(dir, data)
	require.NoError(t, err)
	var names []string
	for _, d := range set.Domains {
		names = append(names, d.Name)
	}
	assert.Equal(t, []string{"a", "b", "c"}, names)
	assert.True(t, set.HasRules())
	assert.Equal(t, filepath.Join(dir, "b.yaml"), set.Quota("b/k..minute").File)

	again, err := ReadPolicy(dir)
	require.NoError(t, err)
	assert.Equal(t, data, again, "what did not change is the same")
}

func TestCFG09_ProblemsOfADirectoryNameTheirFile(t *testing.T) {
	dir := t.TempDir()
	_, err := ReadPolicy(dir)
	require.ErrorContains(t, err, "there is no file whose name ends in .yaml or .yml")
	_, err = ReadPolicy(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	write(t, dir, map[string]string{"a.yaml": fmt.Sprintf(oneRule, "a", 1), "b.yaml": fmt.Sprintf(oneRule, "a", 1) + "descriptor: 5\n", "c.yaml": "{"})
	data, err := ReadPolicy(dir)
	require.NoError(t, err)
	_, err = ParsePolicy(dir, data)
	var problems policy.Errors
	require.ErrorAs(t, err, &problems)
	require.Len(t, problems, 3)
	assert.Equal(t, filepath.Join(dir, "b.yaml")+`:1:9: domain: "a" is already defined in `+filepath.Join(dir, "a.yaml"), problems[0].Error())
	assert.Contains(t, problems[1].Error(), filepath.Join(dir, "b.yaml")+":5:1: unknown field \"descriptor\"")
	assert.Contains(t, problems[2].Error(), filepath.Join(dir, "c.yaml")+":1:")

	write(t, dir, map[string]string{"d.yaml": strings.Repeat("#", policy.MaxBytes)})
	_, err = ReadPolicy(dir)
	require.ErrorContains(t, err, "more than 1048576 bytes together")
}
