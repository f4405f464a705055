package distance

import (
	"context"
	"net"
	"time"
)

// Dialer returns a function for grpc.WithContextDialer that dials TCP addresses
// at a distance of a round trip. Like that of a far-away host, the answer to the
// dialing itself takes a round trip too.
func Dialer(roundTrip time.Duration) func(ctx context.Context, addr string) (net.Conn, error) {
	return func(ctx context.Context, addr string) (net.Conn, error) {
		timer := time.NewTimer(roundTrip)
		defer timer.Stop()
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
		select {
		case <-timer.C:
		case <-ctx.Done():
			if err == nil {
				err = conn.Close()
			}
			if err == nil {
				err = ctx.Err()
			}
			return nil, err
		}
		if err != nil {
			return nil, err
		}
		return Wrap(conn, roundTrip), nil
	}
}
