package chaos

import "time"

// process is one process on one machine, with the machine's clocks. What comes
// in while it is paused waits, as in the buffers of a socket, and is handled
// when it goes on: that is how a zombie wakes.
type process struct {
	w       *World
	name    string
	up      bool
	gen     int // of restarts: what was meant for an earlier one is lost
	paused  int // how many pauses overlap
	backlog []func()
	noStore int           // how many cuts from the store overlap
	proved  time.Duration // true time at which the store last renewed its election lease

	slept time.Duration // in all pauses
	start time.Duration // what the clock showed at the true time 0
	ppm   int64         // how much too fast it runs
	wall  time.Duration // how far the wall clock is ahead
}

// clock reads the machine's monotonic clock. It counts the time that the
// machine is suspended.
func (p *process) clock() time.Duration {
	t := p.start + p.w.now + time.Duration(int64(p.w.now)/1000*p.ppm/1000)
	if mutated("wall-clock expiry") {
		t += p.wall
	}
	if mutated("suspension not counted") {
		t -= p.slept
	}
	if mutated("clocks beyond the drift") {
		t += time.Duration(int64(p.w.now) / 1000 * p.ppm / 50)
	}
	return t
}

// after has do happen in the process after a time, unless it was restarted by
// then.
func (p *process) after(d time.Duration, do func()) {
	gen := p.gen
	p.w.heap.push(p.w.now+d, func() {
		switch {
		case !p.up || p.gen != gen:
		case p.paused > 0:
			p.backlog = append(p.backlog, func() {
				if p.up && p.gen == gen {
					do()
				}
			})
		default:
			do()
		}
	})
}

// pause stops the process for a time: SIGSTOP, a long collection, a suspended
// machine.
func (p *process) pause(d time.Duration) {
	p.paused++
	p.w.heap.push(p.w.now+d, func() {
		p.slept += d
		if p.paused--; p.paused > 0 {
			return
		}
		p.w.tell("%s goes on", p.name)
		backlog := p.backlog
		p.backlog = nil
		for i, do := range backlog {
			if p.paused > 0 {
				p.backlog = append(p.backlog, backlog[i:]...)
				return
			}
			do()
		}
	})
}
