// Command explore tries every schedule of tiny worlds up to some depth and
// reports how far it came, or the shortest way to a broken promise.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/a1009580/leasehold/chaos/explore"
)

func main() {
	scene := flag.String("scene", "", "the one scene to explore; all of them if empty")
	depth := flag.Int("depth", 100, "the longest paths to try")
	minutes := flag.Float64("minutes", 1, "how long to explore each scene at most")
	states := flag.Int64("states", 50_000_000, "how many states to remember of each scene at most, about 40 bytes each")
	workers := flag.Int("workers", runtime.NumCPU(), "how many goroutines explore")
	flag.Parse()
	debug.SetGCPercent(400) // worlds live for microseconds

	limits := explore.Limits{
		Depth: *depth, States: *states, Workers: *workers, Time: time.Duration(*minutes * float64(time.Minute)),
	}
	code, known := 0, false
	for _, s := range explore.Scenes() {
		if *scene != "" && s.Name != *scene {
			continue
		}
		known = true
		r := explore.Search(s, limits)
		fmt.Println(r)
		if r.Violation != nil {
			fmt.Printf("violation: %v\n%s", r.Violation.Err, explore.Story(s, r.Violation.Path))
			code = 1
		}
	}
	if !known {
		fmt.Fprintf(os.Stderr, "explore: no scene is named %q\n", *scene)
		code = 2
	}
	os.Exit(code)
}
