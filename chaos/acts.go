package chaos

import "time"

// act does one thing to the world.
func (w *World) act(a *Act) {
	coord := w.coords[a.Target%len(w.coords)]
	if a.N%2 == 0 && w.newest != nil { // half of what happens to a coordinator happens to the leader
		coord = w.newest
	}
	r := w.regions[a.Target%len(w.regions)]
	done := true
	switch a.Kind {
	case CrashCoordinator:
		coord.crash(a.For)
	case CrashMidway:
		coord.crashIn = 1 + a.N%7
		return // counted when it happens
	case PauseCoordinator:
		w.tell("%s stands still for %v", coord.name, a.For)
		coord.pause(a.For)
	case IsolateCoordinator:
		w.tell("%s is cut off from the store for %v", coord.name, a.For)
		coord.noStore++
		w.heap.push(w.now+a.For, func() { coord.noStore-- })
	case RetireCoordinator:
		done = coord.retire()
	case CrashRegion:
		r.crash(a.For)
	case PauseRegion:
		w.tell("%s stands still for %v", r.name, a.For)
		r.pause(a.For)
	case LeaveRegion:
		r.leave(a.For)
	case Cut:
		w.cut(r, a.For, true, true)
	case CutUp:
		w.cut(r, a.For, true, false)
	case CutDown:
		w.cut(r, a.For, false, true)
	case BreakStream:
		done = w.breakStream(r)
	default:
		done = w.actOnStore(a, coord)
	}
	if done {
		w.count(a.Kind)
	}
}

// actOnStore does what concerns the store, the policy and the wall clock.
func (w *World) actOnStore(a *Act, coord *coordinator) bool {
	s := w.store
	switch a.Kind {
	case StoreDown:
		w.tell("the store is unreachable for %v", a.For)
		s.downTill = max(s.downTill, w.now+a.For)
	case DeleteKey:
		if s.expire(); s.key == 0 {
			return false
		}
		w.tell("somebody deletes the leader's key")
		s.dropKey()
	case TakeSnapshot:
		w.tell("the store is copied at revision %d", s.revision)
		s.take()
	case RestoreSnapshot:
		before := s.revision
		if !s.restore() {
			return false
		}
		w.tell("the copy is put in the place of the store: revision %d becomes %d", before, s.revision)
		w.losePast()
	case WipeStore:
		w.tell("the store is wiped")
		s.wipe()
		w.losePast()
	case ChangePolicy:
		return w.changePolicy(a.N % len(w.cfg.Policies))
	case StepWall:
		w.tell("the wall clock of %s steps by %v", coord.name, a.For)
		coord.wall += a.For
	default:
		return false
	}
	return true
}

// cut drops what a region sends, or what is sent to it.
func (w *World) cut(r *region, d time.Duration, up, down bool) {
	w.tell("%s is cut off for %v (up %v, down %v)", r.name, d, up, down)
	add := func(n int) {
		if up {
			r.cutUp += n
		}
		if down {
			r.cutDown += n
		}
	}
	add(1)
	w.heap.push(w.now+d, func() {
		add(-1)
		w.tell("the cut of %s heals", r.name)
	})
}

// breakStream ends a connection; each side notices for itself.
func (w *World) breakStream(r *region) bool {
	s := r.stream
	if s == nil {
		return false
	}
	w.tell("the stream of %s breaks", r.name)
	r.after(w.netRNG.span(0, 200*time.Millisecond), func() { r.lost(s) })
	s.coord.after(w.netRNG.span(0, 2*time.Second), func() { s.coord.lost(s) })
	return true
}

// changePolicy has the leader write a policy.
func (w *World) changePolicy(policy int) bool {
	c := w.newest
	if c == nil || c.ledger == nil || c.paused > 0 || policy == w.wanted || w.lost {
		return false
	}
	next := c.policy.Replace(w.policyBytes(policy))
	if !c.ledger.SetPolicy(next, w.cfg.Policies[policy]) {
		return false
	}
	w.tell("%s is told to enforce policy %d", c.name, policy)
	c.policy, w.wanted, w.announcedAs = next, policy, false
	w.promise(policy)
	c.pump()
	return true
}

// retire ends a leadership in good order.
func (c *coordinator) retire() bool {
	if c.ledger == nil || !c.up || c.paused > 0 {
		return false
	}
	c.ledger.Retire(c.moment())
	c.retired = true
	c.pump()
	return true
}
