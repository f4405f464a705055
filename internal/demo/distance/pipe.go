package distance

import (
	"os"
	"sync"
	"time"
)

// most is how many bytes may be under way in one direction: more than any
// window of gRPC, so that only a peer which does not read is held up.
const most = 64 << 20

// pipe carries bytes in one direction and hands them out a time after they were
// put in, in order.
type pipe struct {
	delay time.Duration

	mu      sync.Mutex
	changed chan struct{} // closed and replaced by every change
	pieces  []piece
	bytes   int
	closed  error // what is read once the pieces are
	end     time.Time

	reader, writer deadline
}

// piece is what was put in at once, and when it arrives.
type piece struct {
	at    time.Time
	bytes []byte
}

func newPipe(delay time.Duration) *pipe { return &pipe{delay: delay, changed: make(chan struct{})} }

// wake lets whoever waits look again.
func (p *pipe) wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signal()
}

// signal is wake for those who hold mu.
func (p *pipe) signal() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// close ends the pipe. What is in it still arrives, and then the error does.
func (p *pipe) close(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed == nil {
		p.closed, p.end = err, time.Now().Add(p.delay)
		p.signal()
	}
}

// abort ends the pipe at once, with all that is in it.
func (p *pipe) abort(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pieces, p.bytes = nil, 0
	p.closed, p.end = err, time.Now()
	p.signal()
}

// write puts bytes in. It waits while too many are under way.
func (p *pipe) write(b []byte) (int, error) {
	for {
		p.mu.Lock()
		if p.closed != nil {
			err := p.closed
			p.mu.Unlock()
			return 0, broken(err)
		}
		if p.writer.passed() {
			p.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		}
		if p.bytes < most {
			p.pieces = append(p.pieces, piece{time.Now().Add(p.delay), append([]byte(nil), b...)})
			p.bytes += len(b)
			p.signal()
			p.mu.Unlock()
			return len(b), nil
		}
		changed := p.changed
		p.mu.Unlock()
		p.writer.wait(changed, time.Time{})
	}
}

// read takes bytes out that have arrived. It waits for the first.
func (p *pipe) read(b []byte) (int, error) {
	for {
		p.mu.Lock()
		if p.reader.passed() {
			p.mu.Unlock()
			return 0, os.ErrDeadlineExceeded
		}
		next := p.end // zero while the pipe is open
		if len(p.pieces) > 0 {
			next = p.pieces[0].at
		}
		now := time.Now()
		arrived := !next.IsZero() && !now.Before(next)
		switch {
		case arrived && len(p.pieces) > 0, len(b) == 0:
			n := p.take(b, now)
			p.mu.Unlock()
			return n, nil
		case arrived:
			err := p.closed
			p.mu.Unlock()
			return 0, err
		}
		changed := p.changed
		p.mu.Unlock()
		p.reader.wait(changed, next)
	}
}

// take moves what has arrived by now into b. The caller holds mu.
func (p *pipe) take(b []byte, now time.Time) int {
	n := 0
	for n < len(b) && len(p.pieces) > 0 && !now.Before(p.pieces[0].at) {
		first := &p.pieces[0]
		k := copy(b[n:], first.bytes)
		n += k
		if first.bytes = first.bytes[k:]; len(first.bytes) == 0 {
			p.pieces[0] = piece{}
			p.pieces = p.pieces[1:]
		}
	}
	if p.bytes >= most && p.bytes-n < most {
		p.signal()
	}
	p.bytes -= n
	return n
}
