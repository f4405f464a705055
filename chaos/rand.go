package chaos

import "time"

// rng is splitmix64: small, fast, and ours, so that a seed means the same in
// every version of Go.
type rng struct{ state uint64 }

// newRNG makes one stream of a seed. Each thing that draws has a stream of its
// own: taking one kind of fault away leaves the others what they were.
func newRNG(seed uint64, stream string) *rng {
	r := &rng{state: seed}
	for i := range len(stream) {
		r.state = r.next() ^ uint64(stream[i])
	}
	return r
}

func (r *rng) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	z := r.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// n returns a number from 0 to n-1.
func (r *rng) n(n int) int { return int(r.next() % uint64(n)) }

// between returns a number from lo to hi, both included.
func (r *rng) between(lo, hi int64) int64 { return lo + int64(r.next()%uint64(hi-lo+1)) }

// span returns a duration from lo to hi.
func (r *rng) span(lo, hi time.Duration) time.Duration {
	return time.Duration(r.between(int64(lo), int64(hi)))
}

// permille is true so many times in a thousand.
func (r *rng) permille(p int) bool { return p > 0 && int(r.next()%1000) < p }

// spread returns a number from 1 to hi of which each order of magnitude is as
// likely: small limits find boundaries, and large ones exist.
func (r *rng) spread(hi int64) int64 {
	top := int64(1)
	for top < hi && r.n(3) > 0 {
		top *= 3
	}
	return r.between(1, min(top, hi))
}

func pick[T any](r *rng, list ...T) T { return list[r.n(len(list))] }
