package explore

// blockPaths is how many paths a block holds at most: a worker replays each
// block from the beginning.
const blockPaths = 4096

// block is a part of a frontier: paths in the order in which a tree is walked,
// each written as how much it shares with the one before, and the rest. A step
// of a path is the place of its action in World.Enabled.
type block struct {
	data  []byte
	paths int
	last  []byte
}

func (b *block) add(path []byte, step byte) {
	n := len(path) + 1
	shared := 0
	for shared < n-1 && shared < len(b.last) && b.last[shared] == path[shared] {
		shared++
	}
	if shared == n-1 && shared < len(b.last) && b.last[shared] == step {
		shared++
	}
	b.last = append(append(b.last[:0], path...), step)
	b.data = append(append(b.data, byte(shared), byte(n-shared)), b.last[shared:]...)
	b.paths++
}

// each calls visit with every path and how much of it is as before, until it
// returns false.
func (b *block) each(visit func(path []byte, shared int) bool) {
	var path []byte
	for d := b.data; len(d) > 0; {
		shared, more := int(d[0]), int(d[1])
		path = append(path[:shared], d[2:2+more]...)
		d = d[2+more:]
		if !visit(path, shared) {
			return
		}
	}
}
