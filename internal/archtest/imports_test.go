// Package archtest holds the repository to the import rules of its design: every decision in pure
// packages, dependencies pointing downward, each large library behind one door. It has no code but
// tests. The rules and their reasons are in rules_test.go; this file reads the source tree and shows
// that each rule bites.
package archtest

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestImports checks the repository itself.
func TestImports(t *testing.T) {
	pkgs, err := load(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range check(pkgs) {
		t.Error(b)
	}
}

// TestRulesBite gives check one broken rule at a time.
func TestRulesBite(t *testing.T) {
	in := func(dir string, imports ...string) pkg { return pkg{dir: dir, imports: imports} }
	ours := func(dir string) string { return module + "/" + dir }
	sound := []pkg{
		in("bucket", "time", "math/rand/v2"),
		in("policy", "fmt", "github.com/goccy/go-yaml", ours("bucket")),
		in("reconcile", ours("policy"), ours("bucket")),
		in("partition", ours("policy")),
		in("lease", ours("bucket")),
		in("lease/storetest", "testing", "github.com/stretchr/testify/require", ours("lease")),
		in("api/leasehold/v1", "google.golang.org/grpc"),
		in("limiter", "net", "google.golang.org/grpc", ours("lease"), ours("api/leasehold/v1")),
		in("internal/etcdstore", "go.etcd.io/etcd/client/v3", ours("lease")),
		in("internal/gossip", "github.com/hashicorp/memberlist"),
		in("internal/regional", "os", ours("limiter"), ours("internal/gossip"), "google.golang.org/grpc/codes"),
		in("chaos", "github.com/anishathalye/porcupine", ours("internal/regional")),
		{dir: "cmd/regional", imports: []string{ours("internal/regional")}, mainLines: mainLines - 1},
	}
	if broken := check(sound); len(broken) > 0 {
		t.Fatalf("a sound repository was refused:\n%s", strings.Join(broken, "\n"))
	}

	for _, tc := range []struct {
		name string
		bad  pkg
		want string // a part of the complaint
	}{
		{"net in pure code", in("bucket", "net"), "bucket -> net: a pure package does no I/O"},
		{"below net", in("lease", "net/http"), "lease -> net/http: a pure package does no I/O"},
		{"os in pure code", in("policy", "os"), "reads no environment"},
		{"below os", in("policy", "os/exec"), "reads no environment"},
		{"slog in pure code", in("lease", "log/slog"), "the shell logs them"},
		{"syscall in pure code", in("lease", "syscall"), "clocks and files belong to the shells"},
		{"grpc in pure code", in("lease", "google.golang.org/grpc/status"), "with no network under it"},
		{"etcd in pure code", in("lease", "go.etcd.io/etcd/client/v3"), "proved by a conformance suite"},
		{"memberlist in pure code", in("partition", "github.com/hashicorp/memberlist"), "who is alive comes in"},
		{"prometheus in pure code", in("lease", "github.com/prometheus/client_golang/prometheus"), "the shell counts them"},
		{"another library in pure code", in("bucket", "github.com/puzpuzpuz/xsync/v4"), "the standard library alone"},
		{"a library of another pure package", in("bucket", "github.com/goccy/go-yaml"), "the standard library alone"},
		{"a goroutine in pure code", pkg{dir: "lease", goroutines: []string{"lease/x.go:7"}}, "lease/x.go:7 starts a goroutine"},
		{"a shell from pure code", in("lease", ours("internal/etcdstore")), "lease -> " + ours("internal/etcdstore") + ": pure code must not reach a shell"},
		{"messages from pure code", in("lease", ours("api/leasehold/v1")), "must not reach a shell"},
		{"net through another pure package", in("policy", ours("policy/file")), "reconcile -> policy -> policy/file -> net: a pure package does no I/O"},
		{"lease imports policy", in("lease", ours("policy")), "lease imports policy: dependencies point downward only"},
		{"lease imports reconcile", in("lease", ours("reconcile")), "lease imports reconcile: dependencies point"},
		{"neighbors import each other", in("partition", ours("reconcile")), "partition imports reconcile: dependencies point"},
		{"a shell imports a command", in("internal/regional", ours("cmd/regional")), "internal/regional imports cmd/regional"},
		{"messages import decisions", in("api/x", ours("limiter")), "api/x imports limiter: dependencies point"},
		{"etcd outside its door", in("internal/coordinator", "go.etcd.io/etcd/server/v3/embed"), "for [internal/etcdstore] only"},
		{"a name that only begins like the door", in("internal/etcdstore2", "go.etcd.io/etcd/client/v3"), "for [internal/etcdstore] only"},
		{"memberlist outside its door", in("internal/regional", "github.com/hashicorp/memberlist"), "for [internal/gossip] only"},
		{"grpc outside the shells", in("web", "google.golang.org/grpc"), "which is for [api limiter internal chaos cmd] only"},
		{"a package in no layer", in("util", "fmt"), "util is in no layer"},
		{"a long main", pkg{dir: "cmd/regional", mainLines: mainLines}, "cmd/regional/main.go has 100 lines"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pkgs := slices.DeleteFunc(slices.Clone(sound), func(p pkg) bool { return p.dir == tc.bad.dir })
			pkgs = append(pkgs, tc.bad, in("policy/file", "net")) // that one is for the longest route
			broken := check(pkgs)
			if !slices.ContainsFunc(broken, func(b string) bool { return strings.Contains(b, tc.want) }) {
				t.Errorf("no complaint contains %q, got:\n%s", tc.want, strings.Join(broken, "\n"))
			}
		})
	}

	t.Run("no pure package at all", func(t *testing.T) {
		broken := check([]pkg{in("internal/regional", "os")})
		if len(broken) != 1 || !strings.Contains(broken[0], "found none of the pure packages") {
			t.Errorf("got %q", broken)
		}
	})
}

// TestLoad shows that the reader sees what the rules need, and no more than that.
func TestLoad(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{
		"lease/a.go":                "package lease\n\nimport \"net\"\n\nfunc f() {\n\tgo f()\n}\n",
		"lease/a_windows.go":        "package lease\n\nimport _ \"os\"\n",
		"lease/a_test.go":           "package lease\n\nimport _ \"log\"\n",
		"lease/testdata/b.go":       "package b\n\nimport _ \"log\"\n",
		"cmd/x/main.go":             "package main\n\nfunc main() {\n}\n",
		"bench/go.mod":              "module bench\n",
		"bench/b.go":                "package bench\n",
		".cache/c.go":               "package c\n",
		"docs/only_words/readme.md": "words\n",
	} {
		file := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := load(root)
	if err != nil {
		t.Fatal(err)
	}
	want := "[{dir:cmd/x imports:[] goroutines:[] mainLines:4}" +
		" {dir:lease imports:[net os] goroutines:[lease/a.go:6] mainLines:0}]"
	if s := fmt.Sprintf("%+v", got); s != want {
		t.Errorf("load:\n got %s\nwant %s", s, want)
	}
}

// load reads the packages of the module at root. It parses the files itself, so that it also sees
// the ones that this system would not build.
func load(root string) ([]pkg, error) {
	var pkgs []pkg
	err := filepath.WalkDir(root, func(dir string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if dir != root && foreign(dir) {
			return fs.SkipDir
		}
		p, err := loadPackage(root, dir)
		if p.dir != "" {
			pkgs = append(pkgs, p)
		}
		return err
	})
	return pkgs, err
}

// foreign reports whether a directory is not part of the module, as the go command sees it.
func foreign(dir string) bool {
	base := filepath.Base(dir)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") ||
		slices.Contains([]string{"testdata", "vendor", "node_modules"}, base) {
		return true
	}
	_, err := os.Stat(filepath.Join(dir, "go.mod"))
	return err == nil
}

// loadPackage reads one directory; without Go files other than tests, the package has no dir.
func loadPackage(root, dir string) (pkg, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return pkg{}, err
	}
	rel, err := filepath.Rel(root, dir)
	if err != nil {
		return pkg{}, err
	}
	var p pkg
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		p.dir = filepath.ToSlash(rel)
		if err := p.add(file); err != nil {
			return pkg{}, err
		}
	}
	slices.Sort(p.imports)
	p.imports = slices.Compact(p.imports)
	return p, nil
}

// add takes in one file.
func (p *pkg) add(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, spec := range syntax.Imports {
		imp, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return fmt.Errorf("%s: import %s: %w", file, spec.Path.Value, err)
		}
		p.imports = append(p.imports, imp)
	}
	base := filepath.Base(file)
	ast.Inspect(syntax, func(n ast.Node) bool {
		if g, ok := n.(*ast.GoStmt); ok {
			p.goroutines = append(p.goroutines, fmt.Sprintf("%s/%s:%d", p.dir, base, fset.Position(g.Pos()).Line))
		}
		return true
	})
	if base == "main.go" {
		p.mainLines = bytes.Count(text, []byte("\n"))
	}
	return nil
}
