package prometheus_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/a1009580/leasehold/chaos/drill/scenario"
)

type rule struct {
	Alert       string            `yaml:"alert"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for"`
	Labels      map[string]string `yaml:"labels"`
	Annotations map[string]string `yaml:"annotations"`
}

const root = "../.."

func rules(t *testing.T) []rule {
	t.Helper()
	b, err := os.ReadFile("leasehold.rules.yaml")
	require.NoError(t, err)
	var doc struct {
		Groups []struct {
			Rules []rule `yaml:"rules"`
		} `yaml:"groups"`
	}
	require.NoError(t, yaml.Unmarshal(b, &doc))
	var all []rule
	for _, g := range doc.Groups {
		all = append(all, g.Rules...)
	}
	require.NotEmpty(t, all)
	return all
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(append([]string{root}, path...)...))
	require.NoError(t, err)
	return string(b)
}

func TestEveryAlertHasARunbookThatNamesIt(t *testing.T) {
	index := read(t, "docs", "runbooks", "README.md")
	for _, r := range rules(t) {
		require.Contains(t, []string{"page", "ticket"}, r.Labels["severity"], r.Alert)
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		page := r.Annotations["runbook"]
		require.Contains(t, read(t, page), "`"+r.Alert+"`", "%s does not name its alert", page)
		require.Contains(t, index, "`"+r.Alert+"`", "the index does not name %s", r.Alert)
	}
}

func TestEveryDrillHasARunbook(t *testing.T) {
	index := read(t, "docs", "runbooks", "README.md")
	all, err := scenario.Builtin()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	for _, s := range scenario.NotHere() {
		names = append(names, s.Name)
	}
	row := regexp.MustCompile("(?m)^\\| (`[a-z-]+`(?:, `[a-z-]+`)*) \\| \\[[^]]+\\]\\(([^)#]+)\\) \\|$")
	pages := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(index, -1) {
		for _, name := range regexp.MustCompile("[a-z-]{3,}").FindAllString(m[1], -1) {
			pages[name] = m[2]
		}
	}
	for _, name := range names {
		require.Contains(t, pages, name, "the index has no page for it")
		require.Contains(t, read(t, "docs", "runbooks", pages[name]), "`"+name+"`", "%s does not name its drill", pages[name])
		delete(pages, name)
	}
	require.Empty(t, pages, "the index names drills that are none")
}

// An alert on a metric that nobody exports never fires.
func TestEveryMetricOfAnAlertIsDocumented(t *testing.T) {
	documented := read(t, "docs", "operations.md")
	metric := regexp.MustCompile(`leasehold_[a-z_]+`)
	for _, r := range rules(t) {
		names := metric.FindAllString(r.Expr, -1)
		require.NotEmpty(t, names, r.Alert)
		for _, name := range names {
			require.Contains(t, documented, "| `"+name+"` |", "%s: %s", r.Alert, name)
		}
	}
}

func TestEveryRunbookSaysWhatARunbookMust(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "runbooks", "*.md"))
	require.NoError(t, err)
	require.Greater(t, len(pages), 10)
	index := read(t, "docs", "runbooks", "README.md")
	link := regexp.MustCompile(`\]\(([^)#]+\.md)[^)]*\)`)
	for _, path := range pages {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		text, name := string(b), filepath.Base(path)
		for _, to := range link.FindAllStringSubmatch(text, -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(path), to[1]))
			require.NoError(t, err, "%s links to %s", name, to[1])
		}
		if name == "README.md" {
			continue
		}
		require.Contains(t, index, "("+name+")", "the index does not have it")
		last := -1
		for _, heading := range []string{"## What one sees", "## What the system does by itself", "## What to do", "## What is lost"} {
			at := strings.Index(text, "\n"+heading+"\n")
			require.Greater(t, at, last, "%s: %s", name, heading)
			last = at
		}
	}
}
