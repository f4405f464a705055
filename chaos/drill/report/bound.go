package report

import (
	"fmt"

	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/verdict"
)

// boundBar is the figure of bound, observed and margin. It shows the interval that
// came closest twice: whole, to tell how much of what was allowed was used, and
// from close by, around the promise and the bound, to tell the margin.
type boundBar struct {
	ID, Alt string
	Broken  bool // more was seen than the bound allows
	Bounded bool // there is a bound

	// The whole: from 0 tokens to the most of what was admitted and allowed.
	Used, Promised pc
	UsedLabel      string
	AllLabel       string

	// The part of it that is seen from close by.
	LensFrom, LensTo pc

	// From close by: the promise is 0 here.
	Zero, Bound, Seen       pc
	SeenAnchor, BoundAnchor string
	ZeroAnchor              string
	ZeroLabel, BoundLabel   string
	SeenLabel, MarginLabel  string
	MarginFrom              pc
	MarginTo, MarginAt      pc
	MarginAnchor            string
}

// edge is how much of the close view is left free at each side.
const edge = 0.16

// newBoundBar draws a bucket.
func newBoundBar(id string, o *result.Overshoot) boundBar {
	over := verdict.Over(o)
	b := boundBar{ID: id, Bounded: o.Bound != nil}
	var bound int64
	if o.Bound != nil {
		bound = *o.Bound
	}
	b.Broken = b.Bounded && over > bound
	b.whole(o, over, bound)
	b.close(over, bound)
	b.Alt = fmt.Sprintf("The %s was promised %s and admitted %s: %s",
		worstName(o), plural(o.Worst.Promised, "token"), comma(o.Worst.Admitted), b.inWords(over, bound))
	return b
}

func (b *boundBar) inWords(over, bound int64) string {
	if !b.Bounded {
		return fmt.Sprintf("%s beyond the promise, and the policy sets no bound.", plural(over, "token"))
	}
	return fmt.Sprintf("%s relative to the promise, with a bound of %s and a margin of %s.",
		signed(over), signed(bound), comma(bound-over))
}

// whole places the figures of the first bar.
func (b *boundBar) whole(o *result.Overshoot, over, bound int64) {
	allowed := o.Worst.Promised + bound
	if !b.Bounded {
		allowed = max(o.Worst.Promised, o.Worst.Admitted)
	}
	most := float64(max(allowed, o.Worst.Admitted, 1))
	b.Used = place(float64(o.Worst.Admitted), 0, most)
	b.Promised = place(float64(o.Worst.Promised), 0, most)
	b.UsedLabel = comma(o.Worst.Admitted) + " admitted"
	b.AllLabel = comma(allowed) + " allowed"
	if !b.Bounded {
		b.AllLabel = comma(o.Worst.Promised) + " promised"
	}
	from, to := closeView(over, bound)
	b.LensFrom = place(from+float64(o.Worst.Promised), 0, most)
	b.LensTo = place(to+float64(o.Worst.Promised), 0, most)
}

// close places those of the second bar.
func (b *boundBar) close(over, bound int64) {
	from, to := closeView(over, bound)
	b.Zero, b.Bound, b.Seen = place(0, from, to), place(float64(bound), from, to), place(float64(over), from, to)
	b.SeenLabel = "observed " + signed(over)
	if over < 0 {
		b.SeenLabel = "closest " + signed(over)
	}
	b.ZeroLabel, b.BoundLabel = "promise 0", "bound "+signed(bound)
	b.SeenAnchor, b.ZeroAnchor, b.BoundAnchor = outward(b.Seen), outward(b.Zero), outward(b.Bound)
	if !b.Bounded {
		b.BoundLabel = "no bound"
		return
	}
	if bound == 0 {
		b.ZeroLabel, b.BoundLabel = "", "promise and bound 0"
	}
	left, right := min(b.Seen, b.Bound), max(b.Seen, b.Bound)
	b.MarginFrom, b.MarginTo, b.MarginAt = left, right, (left+right)/2
	b.MarginAnchor = "middle"
	b.MarginLabel = "margin " + comma(bound-over)
	if b.Broken {
		b.MarginLabel = comma(over-bound) + " beyond the bound"
	}
}

// closeView is the range of the close view, in tokens relative to the promise.
func closeView(over, bound int64) (from, to float64) {
	lo, hi := float64(min(over, 0)), float64(max(over, bound, 0))
	width := max(hi-lo, 1)
	free := width * edge / (1 - 2*edge)
	return lo - free, hi + free
}

// outward is the text-anchor of a label that must not be pushed out of the figure.
func outward(p pc) string {
	if p > 50 {
		return "end"
	}
	return "start"
}
