package distance

import (
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// conn is a connection of which each direction takes a time of its own.
type conn struct {
	net.Conn
	out, in *pipe
	once    sync.Once
}

// linger is how long a closed connection goes on trying to hand over what was
// written, beside the time that it takes.
const linger = 5 * time.Second

// Wrap puts the far end of a connection at a distance of a round trip. The
// connection belongs to the wrapper, which closes it.
func Wrap(near net.Conn, roundTrip time.Duration) net.Conn {
	there := roundTrip / 2
	c := &conn{Conn: near, out: newPipe(there), in: newPipe(roundTrip - there)}
	go c.send()
	go c.receive()
	return c
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) { return c.in.read(b) }

// Write implements net.Conn. Like that of a socket it returns before the bytes
// have arrived, and waits only while too many of them are under way.
func (c *conn) Write(b []byte) (int, error) { return c.out.write(b) }

// Close implements net.Conn. Nothing more is read; what was written still
// arrives, in its time.
func (c *conn) Close() error {
	c.once.Do(func() {
		c.in.abort(net.ErrClosed)
		c.out.close(io.EOF)
		// A peer that reads nothing keeps nobody for ever. The near end may be
		// closed already.
		_ = c.Conn.SetWriteDeadline(time.Now().Add(c.out.delay + linger))
	})
	return nil
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	return errors.Join(c.SetReadDeadline(t), c.SetWriteDeadline(t))
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error { c.in.reader.set(t); c.in.wake(); return nil }

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error { c.out.writer.set(t); c.out.wake(); return nil }

// send carries what was written to the near end, each piece in its time.
func (c *conn) send() {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.out.read(buf)
		if err == nil {
			_, err = c.Conn.Write(buf[:n])
		}
		if err != nil {
			// The far end is gone, or we are: either way nothing is under way
			// any more. The near end's own error comes by way of receive.
			c.out.close(err)
			_ = c.Conn.Close()
			return
		}
	}
}

// receive takes what arrives at the near end, and lets it be read in its time.
func (c *conn) receive() {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.Conn.Read(buf)
		if n > 0 {
			if _, e := c.in.write(buf[:n]); e != nil {
				err = e
			}
		}
		if err != nil {
			c.in.close(err)
			return
		}
	}
}
