package proxy

import (
	"errors"
	"io"
	"net"
	"time"
)

const (
	pieceBytes = 16 << 10
	// inFlight is how many pieces may be on the way. Then the sender waits, as
	// with a full window.
	inFlight = 64
)

// piece is what one reading brought, and when. The last one of a direction has
// no bytes: the sender has closed.
type piece struct {
	bytes []byte
	at    time.Time
}

// reader reads ahead from a connection.
type reader struct {
	pieces chan piece
	// broken is closed when the connection broke, which is more than that its
	// sender closed its half in good order.
	broken chan struct{}
	stop   chan struct{} // closed when nobody wants more
}

// newReader starts to read. Its owner closes stop and the connection.
func (p *Proxy) newReader(c net.Conn) *reader {
	r := &reader{pieces: make(chan piece, inFlight), broken: make(chan struct{}), stop: make(chan struct{})}
	p.ended.Go(func() { r.run(c) })
	return r
}

// run ends when the connection does, or is closed.
func (r *reader) run(c net.Conn) {
	for {
		b := make([]byte, pieceBytes)
		n, err := c.Read(b)
		now := time.Now()
		if n > 0 && !r.hand(piece{b[:n], now}) {
			return
		}
		switch {
		case errors.Is(err, io.EOF):
			r.hand(piece{at: now})
			return
		case err != nil:
			close(r.broken)
			return
		}
	}
}

func (r *reader) hand(p piece) bool {
	select {
	case r.pieces <- p:
		return true
	case <-r.stop:
		return false
	}
}

// pump passes one direction on until its sender closed or one of the
// connections broke; then it closes both.
func (p *Proxy) pump(d Direction, from *reader, to, source net.Conn) {
	var due time.Time
	for {
		var next piece
		select {
		case next = <-from.pieces:
		case <-from.broken:
			// What was read before still counts, but a broken connection takes
			// the other one along, at once.
			_ = to.Close()
			return
		case <-p.ctx.Done():
			return
		}
		if at := next.at.Add(p.onTheWay(len(next.bytes))); at.After(due) {
			due = at
		}
		p.wait(time.Until(due), from.broken)
		if !p.pass(d, from.broken) {
			_, _ = to.Close(), source.Close()
			return
		}
		if next.bytes == nil {
			halfClose(to)
			return
		}
		if _, err := to.Write(next.bytes); err != nil {
			_, _ = to.Close(), source.Close()
			return
		}
		p.mu.Lock()
		p.stats.Segments++
		p.mu.Unlock()
	}
}

// onTheWay is how long n bytes take in one direction.
func (p *Proxy) onTheWay(n int) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	late, lost := p.quality.lateness(n, p.random.Float64)
	p.stats.Lost += lost
	return p.quality.RoundTrip/2 + late
}

// halfClose tells the receiver that nothing more comes.
func halfClose(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
		return
	}
	_ = c.Close()
}
