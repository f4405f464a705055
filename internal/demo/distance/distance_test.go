package distance_test

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/a1009580/leasehold/internal/demo/distance"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// inBubble runs a test on fake time with both ends of a connection.
func inBubble(t *testing.T, roundTrip time.Duration, test func(t *testing.T, far, near net.Conn)) {
	synctest.Test(t, func(t *testing.T) {
		a, near := net.Pipe()
		far := distance.Wrap(a, roundTrip)
		test(t, far, near)
		_, _ = far.Close(), near.Close()
		time.Sleep(time.Minute) // whatever is under way arrives or is given up
	})
}

func TestEachDirectionTakesHalfARoundTrip(t *testing.T) {
	inBubble(t, 151*time.Millisecond, func(t *testing.T, far, near net.Conn) {
		begin := time.Now()
		buf := make([]byte, 10)
		_, err := far.Write([]byte("ping"))
		require.NoError(t, err)
		require.Zero(t, time.Since(begin), "writing does not wait")
		n, err := near.Read(buf)
		require.NoError(t, err)
		require.Equal(t, "ping", string(buf[:n]))
		require.Equal(t, 151*time.Millisecond/2, time.Since(begin))
		_, err = near.Write([]byte("pong"))
		require.NoError(t, err)
		n, err = far.Read(buf)
		require.NoError(t, err)
		require.Equal(t, "pong", string(buf[:n]))
		require.Equal(t, 151*time.Millisecond, time.Since(begin))
	})
}

// TestThroughputIsNotLimited sends a megabyte in small writes: all of it arrives
// half a round trip after it was written.
func TestThroughputIsNotLimited(t *testing.T) {
	inBubble(t, 200*time.Millisecond, func(t *testing.T, far, near net.Conn) {
		sent := make([]byte, 1<<20)
		r := rand.New(rand.NewPCG(1, 2))
		for i := range sent {
			sent[i] = byte(r.Uint32())
		}
		begin := time.Now()
		for rest := sent; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(5000))
			_, err := far.Write(rest[:n])
			require.NoError(t, err)
			rest = rest[n:]
		}
		require.NoError(t, far.Close(), "what was written arrives all the same")
		got, err := io.ReadAll(near)
		require.NoError(t, err)
		require.True(t, bytes.Equal(sent, got))
		require.Equal(t, 100*time.Millisecond, time.Since(begin))
	})
}

func TestPiecesKeepTheirDistanceAndOrder(t *testing.T) {
	inBubble(t, 100*time.Millisecond, func(t *testing.T, far, near net.Conn) {
		begin := time.Now()
		var writer sync.WaitGroup
		writer.Go(func() {
			for i := range 50 {
				_, _ = far.Write([]byte{byte(i)})
				time.Sleep(3 * time.Millisecond)
			}
		})
		buf := make([]byte, 1)
		for i := range 50 {
			_, err := io.ReadFull(near, buf)
			require.NoError(t, err)
			require.Equal(t, byte(i), buf[0])
			require.Equal(t, 50*time.Millisecond+time.Duration(i)*3*time.Millisecond, time.Since(begin))
		}
		writer.Wait()
	})
}

func TestTheEndArrivesInItsTime(t *testing.T) {
	inBubble(t, 100*time.Millisecond, func(t *testing.T, far, near net.Conn) {
		begin := time.Now()
		_, err := near.Write([]byte("last"))
		require.NoError(t, err)
		require.NoError(t, near.Close())
		got, err := io.ReadAll(far)
		require.NoError(t, err)
		require.Equal(t, "last", string(got))
		require.Equal(t, 50*time.Millisecond, time.Since(begin))
		require.Eventually(t, func() bool { _, err := far.Write([]byte("x")); return err != nil }, time.Second, time.Millisecond)
	})
}

func TestDeadlines(t *testing.T) {
	inBubble(t, 100*time.Millisecond, func(t *testing.T, far, near net.Conn) {
		begin := time.Now()
		require.NoError(t, far.SetDeadline(begin.Add(20*time.Millisecond)))
		_, err := far.Read(make([]byte, 1))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.Equal(t, 20*time.Millisecond, time.Since(begin))
		_, err = far.Write([]byte("x"))
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, far.SetDeadline(time.Time{}))

		var reader sync.WaitGroup
		reader.Go(func() { _, err = far.Read(make([]byte, 1)) })
		time.Sleep(time.Hour)
		require.NoError(t, far.SetReadDeadline(time.Now()), "a deadline ends a call that waits")
		reader.Wait()
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		_, err = near.Write(nil)
		require.NoError(t, err)
	})
}

func TestClosingEndsWhoeverWaits(t *testing.T) {
	inBubble(t, 100*time.Millisecond, func(t *testing.T, far, _ net.Conn) {
		var reader sync.WaitGroup
		var err error
		reader.Go(func() { _, err = far.Read(make([]byte, 1)) })
		synctest.Wait()
		begin := time.Now()
		require.NoError(t, far.Close())
		reader.Wait()
		require.Zero(t, time.Since(begin))
		require.ErrorIs(t, err, net.ErrClosed)
		_, err = far.Write([]byte("x"))
		require.ErrorIs(t, err, net.ErrClosed)
		require.NoError(t, far.Close())
	})
}

// TestAPeerThatReadsNothing holds its writer up, and nobody for ever.
func TestAPeerThatReadsNothing(t *testing.T) {
	inBubble(t, 10*time.Millisecond, func(t *testing.T, far, _ net.Conn) {
		require.NoError(t, far.SetWriteDeadline(time.Now().Add(time.Minute)))
		var err error
		for n := 0; err == nil && n < 200; n++ {
			_, err = far.Write(make([]byte, 1<<20))
		}
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	})
}

func TestDialerOverTCP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var server sync.WaitGroup
	server.Go(func() {
		conn, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
		}
	})
	const roundTrip = 40 * time.Millisecond
	dial := distance.Dialer(roundTrip)
	begin := time.Now()
	conn, err := dial(t.Context(), l.Addr().String())
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Since(begin), roundTrip)
	begin = time.Now()
	_, err = conn.Write([]byte("x"))
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, 1))
	require.NoError(t, err)
	assert.GreaterOrEqual(t, time.Since(begin), roundTrip)
	require.NoError(t, conn.Close())
	server.Wait()

	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = dial(ctx, l.Addr().String())
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NoError(t, l.Close())
	_, err = dial(t.Context(), l.Addr().String())
	require.Error(t, err)
}
