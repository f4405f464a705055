package explore

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// Limits end a search.
type Limits struct {
	Depth   int           // actions after the prologue
	States  int64         // about 40 bytes of memory each
	Time    time.Duration // 0: none
	Workers int
}

// Result is what a search found.
type Result struct {
	Scene       string
	Depth       int // every path so long was tried
	Whole       bool
	States      int64
	Transitions int64
	Elapsed     time.Duration
	Levels      []int64 // new states at each depth
	Violation   *Violation
}

// Violation is a shortest path to a state that must not be.
type Violation struct {
	Err  error
	Path []Action
}

// search is one run of Search.
type search struct {
	scene   *Scene
	limits  Limits
	seen    *set
	ends    time.Time
	states  atomic.Int64
	moves   atomic.Int64
	stopped atomic.Bool

	mu        sync.Mutex
	next      []*block
	violation *Violation
}

// Search tries every path from the scene's start, breadth first, until a
// violation or a limit. Depth is the last level that was tried completely.
func Search(scene *Scene, limits Limits) Result {
	begun := time.Now()
	s := &search{scene: scene, limits: limits, seen: newSet()}
	if limits.Time > 0 {
		s.ends = begun.Add(limits.Time)
	}
	start := scene.Start()
	r := Result{Scene: scene.Name, States: 1, Levels: []int64{1}}
	if err := start.Check(); err != nil {
		r.Violation = &Violation{Err: err}
		return r
	}
	s.seen.add((&hasher{}).Hash(start))
	s.states.Store(1)
	frontier := []*block{{data: []byte{0, 0}, paths: 1}}
	for r.Depth < limits.Depth && len(frontier) > 0 && s.violation == nil && !s.stopped.Load() {
		before := s.states.Load()
		frontier = s.level(frontier)
		if s.stopped.Load() {
			break
		}
		r.Depth++
		if s.violation == nil {
			r.Levels = append(r.Levels, s.states.Load()-before)
		}
	}
	r.Whole = len(frontier) == 0 && s.violation == nil && !s.stopped.Load()
	r.States, r.Transitions, r.Violation = s.states.Load(), s.moves.Load(), s.violation
	r.Elapsed = time.Since(begun)
	return r
}

// level expands a frontier and returns the next one.
func (s *search) level(frontier []*block) []*block {
	s.next = nil
	work := make(chan *block, len(frontier))
	for _, b := range frontier {
		work <- b
	}
	close(work)
	var wait sync.WaitGroup
	for range max(1, s.limits.Workers) {
		wait.Go(func() {
			w := newWorker(s)
			for b := range work {
				b.each(w.expand)
			}
			w.flush()
		})
	}
	wait.Wait()
	return s.next
}

// worker expands paths. The processes of its worlds are its own.
type worker struct {
	search  *search
	hasher  hasher
	trail   []*World // the worlds along the present path
	enabled []Action
	out     *block
}

func newWorker(s *search) *worker {
	return &worker{search: s, trail: []*World{s.scene.Start()}, out: &block{}}
}

// expand tries everything that can happen after a path.
func (k *worker) expand(path []byte, shared int) bool {
	s := k.search
	if s.over() {
		return false
	}
	k.trail = k.trail[:shared+1]
	for _, step := range path[shared:] {
		w := k.trail[len(k.trail)-1]
		k.enabled = w.Enabled(k.enabled[:0])
		k.trail = append(k.trail, w.After(k.enabled[step]))
	}
	w := k.trail[len(k.trail)-1]
	k.enabled = w.Enabled(k.enabled[:0])
	s.moves.Add(int64(len(k.enabled)))
	for step, a := range k.enabled {
		c := w.After(a)
		fresh := s.seen.add(k.hasher.Hash(c))
		if c.fault == nil && !fresh {
			continue
		}
		if err := c.Check(); err != nil {
			s.found(append(append([]byte(nil), path...), byte(step)), err)
			return false
		}
		s.states.Add(1)
		k.out.add(path, byte(step))
		if k.out.paths == blockPaths {
			k.flush()
		}
	}
	return true
}

// flush hands the paths that were found to the next level.
func (k *worker) flush() {
	if k.out.paths == 0 {
		return
	}
	k.search.mu.Lock()
	defer k.search.mu.Unlock()
	k.search.next = append(k.search.next, k.out)
	k.out = &block{}
}

// over says that a limit was reached or a violation was found.
func (s *search) over() bool {
	if s.limits.States > 0 && s.states.Load() >= s.limits.States ||
		!s.ends.IsZero() && time.Now().After(s.ends) {
		s.stopped.Store(true)
	}
	if s.stopped.Load() {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.violation != nil
}

func (s *search) found(path []byte, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.violation != nil {
		return
	}
	s.violation = &Violation{Err: err}
	w := s.scene.Start()
	for _, step := range path {
		a := w.Enabled(nil)[step]
		s.violation.Path = append(s.violation.Path, a)
		w = w.After(a)
	}
}

// String tells the figures of a search.
func (r Result) String() string {
	end := fmt.Sprintf("every path of %d actions", r.Depth)
	if r.Whole {
		end = fmt.Sprintf("every state there is, at most %d actions away", r.Depth)
	}
	return fmt.Sprintf("%s: %s, %d states, %d transitions, %.0f states/s", r.Scene, end, r.States, r.Transitions,
		float64(r.States)/r.Elapsed.Seconds())
}
