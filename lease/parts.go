package lease

import "time"

// Part is what one cell is to give to a request.
type Part struct {
	Cell *Cell
	// Cost is in tokens; 0 consumes nothing and asks whether a cost of 1 could be
	// admitted.
	Cost int64
	// Advisory says that the request does not depend on this cell: it gives its
	// cost if it can, and else nothing.
	Advisory bool

	// What became of it, set by DecideParts: whether the cell could give its cost,
	// and what it could admit beside that.
	Outcome   Outcome
	Remaining int64
}

// DecideParts is Decide with a cost for each cell: a request is admitted by all
// parts that are not advisory, or by none (law 14), and what is not admitted takes
// nothing from any. No cell may be in two parts. A Verdict of Forgotten or Invalid
// says nothing of the parts.
func DecideParts(now func() time.Duration, parts []Part) Verdict {
	if len(parts) == 0 || len(parts) > maxCells {
		return Verdict{Outcome: Invalid, At: now()}
	}
	if p := &parts[0]; len(parts) == 1 && p.Cost > 0 && !p.Advisory {
		if v, ok := p.Cell.fast(now, p.Cost); ok {
			p.Outcome, p.Remaining = v.Outcome, v.Remaining
			return v
		}
	}
	var cells [maxCells]*Cell
	var held [maxCells]heldTokens
	for i := range parts {
		if parts[i].Cost < 0 {
			return Verdict{Outcome: Invalid, Cell: i, At: now()}
		}
		cells[i] = parts[i].Cell
		held[i].cost, held[i].advisory = parts[i].Cost, parts[i].Advisory
	}
	v := decideHeld(now, cells[:len(parts)], held[:len(parts)])
	for i := range parts {
		parts[i].Outcome, parts[i].Remaining = held[i].outcome, held[i].left
	}
	return v
}
