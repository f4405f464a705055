package explore

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestScenes explores a slice of what chaos/cmd/explore explores.
func TestScenes(t *testing.T) {
	for _, s := range Scenes() {
		t.Run(s.Name, func(t *testing.T) {
			r := Search(s, Limits{Depth: slice, States: 60_000, Workers: 2})
			t.Log(r)
			if r.Violation != nil {
				t.Fatalf("%v\n%s", r.Violation.Err, Story(s, r.Violation.Path))
			}
			require.GreaterOrEqual(t, r.Depth, slice-2)
		})
	}
}

// The same states are found however many look for them.
func TestSearch_CountsTheSameWithAnyNumberOfWorkers(t *testing.T) {
	s := Scenes()[0]
	one, many := Search(s, Limits{Depth: 5, Workers: 1}), Search(s, Limits{Depth: 5, Workers: 3})
	require.Equal(t, one.Levels, many.Levels)
	require.Equal(t, one.Transitions, many.Transitions)
}

func TestBlock_KeepsPaths(t *testing.T) {
	paths := [][]byte{{1, 2, 3}, {1, 2, 4}, {1, 5, 5}, {1, 5, 5}, {2, 2, 3}, {2, 2, 3}}
	b := &block{}
	for _, p := range paths {
		b.add(p[:len(p)-1], p[len(p)-1])
	}
	var got [][]byte
	b.each(func(path []byte, shared int) bool {
		if n := len(got); n > 0 {
			require.Equal(t, got[n-1][:shared], path[:shared])
		}
		got = append(got, append([]byte(nil), path...))
		return true
	})
	require.Equal(t, paths, got)
}
