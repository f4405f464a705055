package scenario

import (
	"embed"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

//go:embed builtin/*.yaml
var builtin embed.FS

// Builtin returns the drills that are built in: those about the promise first,
// then by name. They are read anew by each call.
func Builtin() ([]*Scenario, error) {
	files, err := fs.Glob(builtin, "builtin/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []*Scenario
	for _, file := range files {
		data, err := builtin.ReadFile(file)
		if err != nil {
			return nil, err
		}
		s, err := Parse(strings.TrimPrefix(file, "builtin/"), data)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Scenario) int {
		if a.Safety != b.Safety {
			if a.Safety {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return all, nil
}

// Find returns a drill that is built in.
func Find(name string) (*Scenario, error) {
	all, err := Builtin()
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		if s.Name == name {
			return s, nil
		}
	}
	return nil, fmt.Errorf("there is no drill %q built in; \"leasehold drill list\" names those that are, and a file is named by its path", name)
}

// Unavailable is a drill that this build cannot run, and why.
type Unavailable struct{ Name, Title, Why string }

// NotHere are the drills that need faults which this build cannot make.
func NotHere() []Unavailable {
	const disk = "needs a disk that fails on demand: a build with the tag drill"
	const clock = "needs a clock that can be set: a build with the tag drill"
	return []Unavailable{
		{"clock-drift", "A clock runs beyond the drift that is assumed", clock},
		{"clock-jump", "A clock jumps", clock},
		{"full-disk", "The disk under the store is full", disk},
		{"slow-fsync", "The disk under the store is slow to write", disk},
	}
}
