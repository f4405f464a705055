//go:build !race

package explore

// slice is how deep the tests explore each scene, walks how many random walks
// they take in it. The race detector makes both take ten times as long.
const (
	slice = 6
	walks = 150
)
