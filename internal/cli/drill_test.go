package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/result/resulttest"
)

// resultFile writes a result into a directory.
func resultFile(t *testing.T, dir, name string, r *result.Result) string {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, writeFile(path, r.Write))
	return path
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

func TestDrillReportPrints(t *testing.T) {
	dir := t.TempDir()
	pass, fail := resultFile(t, dir, "pass.json", resulttest.Pass()), resultFile(t, dir, "fail.json", resulttest.Fail())
	code, out, errs := leasehold(t, "", "drill", "report", pass, fail)
	require.Equal(t, OK, code, errs)
	assert.True(t, strings.HasPrefix(out, "PASS  "), out)
	assert.Contains(t, out, "\n\nFAIL  ")

	code, out, _ = leasehold(t, read(t, fail), "drill", "report", "-")
	assert.Equal(t, OK, code, "what a report says is not how writing it went")
	assert.True(t, strings.HasPrefix(out, "FAIL  "), out)
}

func TestDrillReportWritesFiles(t *testing.T) {
	dir := t.TempDir()
	in := resultFile(t, dir, "a.json", resulttest.Pass())
	to := func(name string) string { return filepath.Join(dir, name) }
	code, out, errs := leasehold(t, "", "drill", "report", "--report", to("a.html"), "--json", to("again.json"), "--junit", to("a.xml"), in)
	require.Equal(t, OK, code, errs)
	assert.Empty(t, out)
	assert.Contains(t, read(t, to("a.html")), "<!DOCTYPE html>")
	assert.Equal(t, read(t, in), read(t, to("again.json")))
	assert.Contains(t, read(t, to("a.xml")), `<testsuites name="leasehold drill" tests="11"`)
}

func TestDrillReportMakesAnIndex(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "runs"), 0o755))
	a := resultFile(t, dir, "runs/a.json", resulttest.Pass())
	b := resultFile(t, dir, "runs/b.json", resulttest.Fail())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "runs", "a.html"), nil, 0o600))
	index, junit := filepath.Join(dir, "index.html"), filepath.Join(dir, "all.xml")
	code, _, errs := leasehold(t, "", "drill", "report", "--index", index, "--junit", junit, "--not-run", "full-disk=no such build", a, b)
	require.Equal(t, OK, code, errs)
	page := read(t, index)
	assert.Contains(t, page, `href="runs/a.html"`)
	assert.NotContains(t, page, `b.html`, "there is no such report")
	assert.Contains(t, page, "no such build")
	assert.Equal(t, 2, strings.Count(read(t, junit), "<testsuite "))
}

func TestDrillDiffTellsByItsExitCode(t *testing.T) {
	dir := t.TempDir()
	other := resulttest.Pass()
	other.Scenario.Name = "flapping"
	pass, fail := resultFile(t, dir, "pass.json", resulttest.Pass()), resultFile(t, dir, "fail.json", resulttest.Fail())
	elsewhere := resultFile(t, dir, "other.json", other)
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{pass, pass}, OK, "nothing changed\n"},
		{[]string{pass, fail}, CheckFailed, "worse    verdict                             PASS      -> FAIL\n"},
		{[]string{fail, pass}, OK, "better   verdict"},
		{[]string{pass, elsewhere}, Inconclusive, "not the same drill: isolate-region, then flapping\n"},
		{[]string{"--json", pass, pass}, OK, `"changes": []`},
	} {
		code, out, errs := leasehold(t, "", append([]string{"drill", "diff"}, c.args...)...)
		assert.Equal(t, c.code, code, "%v: %s", c.args, errs)
		assert.Contains(t, out, c.want)
	}
}

func TestAReportIsAsGoodAsItsResult(t *testing.T) {
	dir := t.TempDir()
	in, page := resultFile(t, dir, "a.json", resulttest.Pass()), filepath.Join(dir, "a.html")
	code, _, errs := leasehold(t, "", "drill", "report", "--report", page, in)
	require.Equal(t, OK, code, errs)
	code, out, errs := leasehold(t, "", "drill", "diff", page, in)
	require.Equal(t, OK, code, errs)
	assert.Equal(t, "nothing changed\n", out)
}

func TestDrillRefusesWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	pass := resultFile(t, dir, "pass.json", resulttest.Pass())
	none := filepath.Join(dir, "none.json")
	bad := filepath.Join(dir, "bad.json")
	require.NoError(t, os.WriteFile(bad, []byte(`{"schema":"other"}`), 0o600))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"report"}, Usage, "name at least one result"},
		{[]string{"report", "--report", "x.html", pass, pass}, Usage, "--report and --json take one result, not 2"},
		{[]string{"report", none}, Usage, "none.json: no such file"},
		{[]string{"report", bad}, Usage, `bad.json: drill result: schema "other"`},
		{[]string{"report", "--index", filepath.Join(dir, "i.html"), "--not-run", "x", pass}, Usage, `--not-run "x": must be NAME=WHY`},
		{[]string{"report", "--junit", filepath.Join(dir, "no", "where.xml"), pass}, Failure, "no/where.xml: no such file"},
		{[]string{"diff", pass}, Usage, "accepts 2 arg(s)"},
		{[]string{"diff", pass, bad}, Usage, "bad.json"},
		{[]string{"diff", bad, pass}, Usage, "bad.json"},
		{[]string{"diff", "--tolerance", "-1", pass, pass}, Usage, "--tolerance -1: must be 0 or more"},
	} {
		code, _, errs := leasehold(t, "", append([]string{"drill"}, c.args...)...)
		assert.Equal(t, c.code, code, "%v: %s", c.args, errs)
		assert.Contains(t, errs, c.want)
	}
}
