package explore

// Enabled appends what can happen next, in an order that depends on the state
// alone: a path is kept as the places of its actions in these lists.
func (w *World) Enabled(dst []Action) []Action {
	b := &w.left
	for i := range w.holders {
		dst = w.enabledAt(dst, int8(i))
	}
	for i := range w.up {
		dst = append(dst, Action{Kind: Up, Arg: int8(i)})
		dst = allow(dst, b.Duplicates, Action{Kind: UpAgain, Arg: int8(i)})
		dst = allow(dst, b.Drops, Action{Kind: UpLost, Arg: int8(i)})
	}
	for i := range w.down {
		dst = append(dst, Action{Kind: Down, Arg: int8(i)})
		dst = allow(dst, b.Duplicates, Action{Kind: DownAgain, Arg: int8(i)})
		dst = allow(dst, b.Drops, Action{Kind: DownLost, Arg: int8(i)})
	}
	for i, l := range w.leaders {
		if !l.alive {
			continue
		}
		dst = append(dst, Action{Kind: Tick, Who: int8(i)})
		if !l.scanned {
			dst = append(dst, Action{Kind: Scan, Who: int8(i)})
		}
	}
	for i := range w.txns {
		dst = append(dst, Action{Kind: Land, Arg: int8(i)})
		dst = allow(dst, b.Refusals, Action{Kind: Refuse, Arg: int8(i)})
		dst = allow(dst, b.Unknowns, Action{Kind: LandMute, Arg: int8(i)}, Action{Kind: LoseMute, Arg: int8(i)})
	}
	if len(w.leaders) < 7 {
		dst = allow(dst, b.Takeovers, Action{Kind: Succeed})
		if w.leaders[w.current()].alive {
			dst = allow(dst, b.Usurpers, Action{Kind: Usurp})
		}
	}
	if b.Steps > 0 {
		if next, ok := w.nextDeadline(); ok {
			dst = append(dst, Action{Kind: Past})
			if next-w.now > epsilon {
				dst = append(dst, Action{Kind: Before})
			}
		}
		if w.scene.Quantum > 0 {
			dst = append(dst, Action{Kind: Quantum})
		}
	}
	return dst
}

// enabledAt appends what can happen at one holder.
func (w *World) enabledAt(dst []Action, i int8) []Action {
	b := &w.left
	if !w.holders[i].left {
		for _, cost := range w.scene.Costs {
			dst = append(dst, Action{Kind: Take, Who: i, Arg: int8(cost)})
		}
		dst = append(dst, Action{Kind: Report, Who: i})
		for l := range w.leaders {
			if w.leaders[l].alive {
				dst = allow(dst, b.Reconnects, Action{Kind: Connect, Who: i, Arg: int8(l)})
			}
		}
		dst = allow(dst, b.Leavings, Action{Kind: Leave, Who: i})
	}
	return allow(dst, b.Crashes, Action{Kind: Crash, Who: i})
}

// allow appends actions of which some are left.
func allow(dst []Action, left uint8, actions ...Action) []Action {
	if left == 0 {
		return dst
	}
	return append(dst, actions...)
}
