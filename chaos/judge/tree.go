package judge

// tree is a binary tree over the admissions in the order of their sending. It
// finds in O(1) from which sending on most was admitted, when each nanosecond
// that an interval begins later is worth something too.
type tree struct {
	nodes  []node // nodes[1] is the root, the leaves begin at leaves
	leaves int
}

// node sums up the admissions below it that were received so far.
type node struct {
	total  wide  // of their costs, scaled
	tokens int64 // and not
	// best is the most, over all sendings in it, of the costs from there on plus
	// what the time of the sending is worth; from is where, admitted the costs.
	best     wide
	from     int
	admitted int64
}

func newTree(n int) *tree {
	t := &tree{leaves: 1}
	for t.leaves < n {
		t.leaves *= 2
	}
	t.nodes = make([]node, 2*t.leaves)
	for i := range t.nodes {
		t.nodes[i].best = least()
	}
	return t
}

// set notes that the admission at a place was received.
func (t *tree) set(place int, total, best wide, tokens int64) {
	i := t.leaves + place
	t.nodes[i] = node{total: total, tokens: tokens, best: best, from: place, admitted: tokens}
	for i /= 2; i > 0; i /= 2 {
		l, r := &t.nodes[2*i], &t.nodes[2*i+1]
		n := node{
			total: l.total.plus(r.total), tokens: l.tokens + r.tokens,
			best: r.best, from: r.from, admitted: r.admitted,
		}
		if b := l.best.plus(r.total); b.above(n.best) {
			n.best, n.from, n.admitted = b, l.from, l.admitted+r.tokens
		}
		t.nodes[i] = n
	}
}

// top sums up everything.
func (t *tree) top() *node { return &t.nodes[1] }
