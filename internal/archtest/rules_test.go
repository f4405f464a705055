package archtest

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// module is the path that every package of this repository begins with.
const module = "github.com/a1009580/leasehold"

// pure names the packages that hold every decision of the system.
var pure = []string{"bucket", "lease", "policy", "partition", "reconcile"}

// A layer is a set of directories, each with all that is below it. A package may import packages of
// lower layers and of its own directory; lateral says whether also those of its neighbors.
type layer struct {
	dirs    []string
	lateral bool
}

// layers stand from the bottom up.
var layers = []layer{
	{dirs: []string{"bucket"}},
	{dirs: []string{"lease"}},
	{dirs: []string{"policy"}},
	{dirs: []string{"partition"}},
	{dirs: []string{"reconcile"}},
	{dirs: []string{"api", "web"}}, // generated messages and embedded files: they import nothing of the module
	{dirs: []string{"limiter", "internal", "chaos"}, lateral: true},
	{dirs: []string{"cmd", "examples"}},
}

// confined are the modules that only some places may import.
var confined = []struct {
	prefix string   // of the import path
	to     []string // the directories that may import it
	why    string
}{
	{
		"go.etcd.io",
		[]string{"internal/etcdstore"},
		"the store is a small interface with one conformance suite; whoever talks to etcd beside it escapes both",
	},
	{
		"github.com/hashicorp/memberlist",
		[]string{"internal/gossip"},
		"gossip is a hint that must be replaceable; its library has one door",
	},
	{
		"google.golang.org/grpc",
		[]string{"api", "limiter", "internal", "chaos", "cmd"},
		"the protocol is decided in pure code and only carried by gRPC, so that the simulator runs the same code",
	},
}

// banned are the imports that no pure package may have, itself or through a package of this module.
var banned = []struct {
	prefix string
	why    string
}{
	{"net", "a pure package does no I/O: the shells move the bytes"},
	{"os", "a pure package does no I/O and reads no environment: what it needs comes in as an argument"},
	{"log", "a pure package returns values and the shell logs them, so that a replay says nothing twice"},
	{"syscall", "a pure package does no I/O: clocks and files belong to the shells"},
	{"google.golang.org/grpc", "the simulator runs the pure code with no network under it"},
	{"go.etcd.io", "the store is an interface to the pure code, proved by a conformance suite"},
	{"github.com/hashicorp/memberlist", "who is alive comes in as an argument"},
	{"github.com/prometheus", "a pure package returns values and the shell counts them"},
}

// pureThirdParty are the modules of others that a pure package may import: each is a decision.
var pureThirdParty = map[string][]string{
	"lease":  {"github.com/puzpuzpuz/xsync/v4"}, // a map that decisions read without a lock
	"policy": {"github.com/goccy/go-yaml"},      // parses policies, with positions for errors
}

// shells are the directories that pure code must never reach.
var shells = []string{"limiter", "internal", "chaos", "cmd", "api", "web"}

// mainLines is what a main.go may not reach: it holds flags and wiring, never a decision.
const mainLines = 100

// A pkg is what the rules look at: paths are relative to the module, imports are as written.
type pkg struct {
	dir        string
	imports    []string // of files other than tests
	goroutines []string // positions of go statements, outside of tests
	mainLines  int      // lines of main.go; 0 if there is none
}

// check returns one line for each broken rule, naming the package, the rule and its reason.
func check(pkgs []pkg) []string {
	byDir := make(map[string]pkg, len(pkgs))
	for _, p := range pkgs {
		byDir[p.dir] = p
	}
	var broken []string
	complain := func(format string, args ...any) { broken = append(broken, fmt.Sprintf(format, args...)) }

	if !slices.ContainsFunc(pkgs, func(p pkg) bool { return within(p.dir, pure...) }) {
		complain("found none of the pure packages %v: the rules below would hold of nothing", pure)
	}
	for _, p := range pkgs {
		checkLayers(p, complain)
		checkConfined(p, complain)
		if within(p.dir, pure...) {
			checkPure(p, byDir, complain)
		}
		if strings.HasPrefix(p.dir, "cmd/") && p.mainLines >= mainLines {
			complain("%s/main.go has %d lines, must stay under %d: it holds flags and wiring, and what decides is tested elsewhere",
				p.dir, p.mainLines, mainLines)
		}
	}
	return broken
}

// checkLayers holds dependencies to one direction.
func checkLayers(p pkg, complain func(string, ...any)) {
	from := layerOf(p.dir)
	if from < 0 {
		complain("%s is in no layer: give it a place in layers, so that its dependencies have a direction", p.dir)
		return
	}
	for _, imp := range p.imports {
		dir, ours := inModule(imp)
		if !ours {
			continue
		}
		to := layerOf(dir)
		sameDir := top(p.dir) == top(dir)
		if to < from || to == from && (sameDir || layers[from].lateral) {
			continue
		}
		complain("%s imports %s: dependencies point downward only, so that each layer can be read and tested without the ones above",
			p.dir, dir)
	}
}

// checkConfined keeps a library behind its one door.
func checkConfined(p pkg, complain func(string, ...any)) {
	for _, c := range confined {
		for _, imp := range p.imports {
			if within(imp, c.prefix) && !within(p.dir, c.to...) {
				complain("%s imports %s, which is for %v only: %s", p.dir, imp, c.to, c.why)
			}
		}
	}
}

// checkPure follows a pure package's imports through the module. Through other modules it does not:
// fmt itself reaches os, and which modules a pure package may use at all is a list of its own.
func checkPure(p pkg, byDir map[string]pkg, complain func(string, ...any)) {
	for _, pos := range p.goroutines {
		complain("%s starts a goroutine: a pure package is a synchronous core, and the shells run it", pos)
	}
	for _, imp := range p.imports {
		if thirdParty(imp) && !testSupport(p.dir) && !within(imp, pureThirdParty[top(p.dir)]...) {
			complain("%s imports %s: a pure package uses the standard library alone, other than what pureThirdParty allows with a reason",
				p.dir, imp)
		}
	}
	for _, route := range reach(p, byDir) {
		last := route[len(route)-1]
		if dir, ours := inModule(last); ours && within(dir, shells...) {
			complain("%s: pure code must not reach a shell, or the simulator would run a second world beside its own",
				strings.Join(route, " -> "))
			continue
		}
		for _, b := range banned {
			if within(last, b.prefix) {
				complain("%s: %s", strings.Join(route, " -> "), b.why)
			}
		}
	}
}

// reach lists how p comes to every import that it has, itself or through packages of this module:
// one route each, by the directories on the way, ending with the import.
func reach(p pkg, byDir map[string]pkg) [][]string {
	var routes [][]string
	seen := map[string]bool{}
	var walk func(p pkg, way []string)
	walk = func(p pkg, way []string) {
		way = append(slices.Clone(way), p.dir)
		for _, imp := range p.imports {
			if seen[imp] {
				continue
			}
			seen[imp] = true
			routes = append(routes, append(slices.Clone(way), imp))
			if dir, ours := inModule(imp); ours {
				walk(byDir[dir], way)
			}
		}
	}
	walk(p, nil)
	return routes
}

// layerOf returns the layer of a directory, or -1.
func layerOf(dir string) int {
	return slices.IndexFunc(layers, func(l layer) bool { return within(dir, l.dirs...) })
}

// within reports whether p is one of the paths or below one of them.
func within(p string, paths ...string) bool {
	return slices.ContainsFunc(paths, func(q string) bool { return p == q || strings.HasPrefix(p, q+"/") })
}

// inModule returns the directory of an import of this module.
func inModule(imp string) (dir string, ours bool) {
	return strings.CutPrefix(imp, module+"/")
}

// thirdParty reports whether an import comes from another module: those begin with a host name.
func thirdParty(imp string) bool {
	return strings.Contains(top(imp), ".") && !within(imp, module)
}

// testSupport reports whether a package only serves tests, by Go's habit of naming (iotest, storetest).
func testSupport(dir string) bool {
	return strings.HasSuffix(path.Base(dir), "test")
}

// top returns the first element of a path.
func top(p string) string {
	first, _, _ := strings.Cut(p, "/")
	return first
}
