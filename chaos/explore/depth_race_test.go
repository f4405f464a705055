//go:build race

package explore

const (
	slice = 4
	walks = 15
)
