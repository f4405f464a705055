package proxy

import (
	"context"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// echo serves what comes back to whoever sent it.
func echo(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l.Addr().String()
}

// to makes a proxy to an address, and a connection through it.
func to(t *testing.T, addr string) (*Proxy, *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := New(Options{Listener: l, Seed: 1, Dial: func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", addr)
	}})
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	tcp, ok := c.(*net.TCPConn)
	require.True(t, ok)
	return p, tcp
}

// roundTrip sends a word and waits for it, or for patience.
func roundTrip(t *testing.T, c net.Conn, word string, patience time.Duration) (time.Duration, error) {
	t.Helper()
	began := time.Now()
	_, err := io.WriteString(c, word)
	require.NoError(t, err)
	return time.Since(began), expect(t, c, word, patience)
}

func expect(t *testing.T, c net.Conn, word string, patience time.Duration) error {
	t.Helper()
	require.NoError(t, c.SetReadDeadline(time.Now().Add(patience)))
	b := make([]byte, len(word))
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	require.Equal(t, word, string(b))
	return nil
}

func TestADelayIsARoundTripAndKeepsOrder(t *testing.T) {
	server := echo(t)
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	p, c := to(t, server)
	_, err := roundTrip(t, c, "warm", time.Minute)
	require.NoError(t, err)
	require.NoError(t, p.SetQuality(Quality{RoundTrip: 60 * time.Millisecond}))
	began := time.Now()
	for _, word := range []string{"one", "two", "three"} {
		_, err := io.WriteString(c, word)
		require.NoError(t, err)
	}
	require.NoError(t, expect(t, c, "onetwothree", time.Minute))
	require.GreaterOrEqual(t, time.Since(began), 60*time.Millisecond)
	require.NoError(t, p.Close())
	require.NoError(t, c.Close())
}

func TestACutHoldsOneDirectionUntilItHeals(t *testing.T) {
	p, c := to(t, echo(t))
	_, err := roundTrip(t, c, "before", time.Minute)
	require.NoError(t, err)
	for _, d := range []Direction{Forth, Back} {
		heal := p.Cut(d)
		again := p.Cut(d)
		held := p.Stats().Held
		_, err = roundTrip(t, c, "during", 50*time.Millisecond)
		require.ErrorIs(t, err, os.ErrDeadlineExceeded, "nothing comes")
		require.Equal(t, held+1, p.Stats().Held, "the cut bit, once")
		heal()
		heal() // means nothing
		require.Error(t, expect(t, c, "during", 50*time.Millisecond), "another cut is left")
		again()
		require.NoError(t, expect(t, c, "during", time.Minute), "late, and not lost")
	}
}

func TestDuringACutNobodyIsReached(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	dialed := make(chan struct{}, 1)
	p := New(Options{Listener: l, Dial: func(context.Context) (net.Conn, error) {
		dialed <- struct{}{}
		return nil, io.ErrUnexpectedEOF
	}})
	defer func() { require.NoError(t, p.Close()) }()
	heal := p.Cut(Forth)
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	require.Eventually(t, func() bool { return p.Stats().Held == 1 }, time.Minute, time.Millisecond)
	require.Empty(t, dialed)
	heal()
	<-dialed
	_, err = c.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "who cannot be reached hangs up")
}

func TestAClosedHalfIsPassedOn(t *testing.T) {
	_, c := to(t, echo(t))
	_, err := io.WriteString(c, "last words")
	require.NoError(t, err)
	require.NoError(t, c.CloseWrite())
	require.NoError(t, c.SetReadDeadline(time.Now().Add(time.Minute)))
	all, err := io.ReadAll(c)
	require.NoError(t, err)
	require.Equal(t, "last words", string(all))
}

func TestALostSegmentComesARetransmissionLater(t *testing.T) {
	q := Quality{RoundTrip: 100 * time.Millisecond, Loss: 0.5}
	draws := func(all ...float64) func() float64 {
		return func() float64 {
			first := all[0]
			all = all[1:]
			return first
		}
	}
	for name, tc := range map[string]struct {
		bytes int
		draws []float64
		late  time.Duration
		lost  int64
	}{
		"not lost":                     {1, []float64{0.5}, 0, 0},
		"lost once":                    {1, []float64{0.4, 0.9}, 300 * time.Millisecond, 1},
		"lost twice":                   {1, []float64{0.4, 0.4, 0.9}, 900 * time.Millisecond, 2},
		"the second of two is lost":    {segmentBytes + 1, []float64{0.9, 0.4, 0.9}, 300 * time.Millisecond, 1},
		"two that are lost count once": {2 * segmentBytes, []float64{0.4, 0.9, 0.4, 0.9}, 300 * time.Millisecond, 2},
		"an end has no bytes":          {0, nil, 0, 0},
	} {
		late, lost := q.lateness(tc.bytes, draws(tc.draws...))
		require.Equal(t, tc.late, late, name)
		require.Equal(t, tc.lost, lost, name)
	}
	late, lost := q.lateness(1, func() float64 { return 0 })
	require.EqualValues(t, mostAttempts, lost, "it ends")
	require.Equal(t, 300*time.Millisecond*(1<<mostAttempts-1), late)
}

func TestAQualityThatIsNoneIsRefused(t *testing.T) {
	p, _ := to(t, echo(t))
	for _, q := range []Quality{{RoundTrip: -1}, {Loss: -0.1}, {Loss: 1}} {
		require.Error(t, p.SetQuality(q))
	}
	require.NoError(t, p.SetQuality(Quality{Loss: 0.99}))
}
