package demo

import (
	"context"
	"log/slog"
	"net"
	"time"

	"google.golang.org/grpc"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/internal/demo/distance"
	"github.com/a1009580/leasehold/internal/regional"
	"github.com/a1009580/leasehold/limiter"
)

const (
	// otherRoundTrip is the distance of a region that is none of the three.
	otherRoundTrip = 150 * time.Millisecond
	// longestRoundTrip is that of the farthest.
	longestRoundTrip = 210 * time.Millisecond
)

// distanceOf returns the time from a region to the coordinator and back.
func distanceOf(region string) time.Duration {
	switch region {
	case "us":
		return 80 * time.Millisecond
	case "eu":
		return otherRoundTrip
	case "ap":
		return longestRoundTrip
	default:
		return otherRoundTrip
	}
}

// place is one region of the demo.
type place struct {
	name       string
	roundTrip  time.Duration // to the coordinator, by the demo's clock
	server     *regional.Server
	limiter    *limiter.Limiter
	grpc, http string
}

// settle starts the servers of a region.
func settle(ctx context.Context, c *clock.Clock, name string, i int, coordinator string, log *slog.Logger) (*place, error) {
	p := &place{name: name, roundTrip: distanceOf(name)}
	var listeners [2]net.Listener
	for k := range listeners {
		l, err := listen(ctx, 7500+10*i+k)
		if err != nil {
			closeAll(listeners[:k])
			return nil, err
		}
		listeners[k] = l
	}
	p.grpc, p.http = listeners[0].Addr().String(), listeners[1].Addr().String()
	var err error
	p.server, err = regional.New(regional.Options{
		Limiter: limiter.Options{
			Region: name, Node: "demo", Coordinators: []string{coordinator}, Cluster: cluster, Clock: c,
			DialOptions: []grpc.DialOption{grpc.WithContextDialer(distance.Dialer(c.Real(p.roundTrip)))},
		},
		GRPC: listeners[0], HTTP: listeners[1], Logger: log,
	})
	if err != nil {
		closeAll(listeners[:])
		return nil, err
	}
	p.limiter = p.server.Limiter()
	return p, nil
}

// leased is how many tokens the region has unspent.
func (p *place) leased() (tokens int64, connected bool) {
	s := p.limiter.Status()
	for i := range s.Quotas {
		tokens += s.Quotas[i].Unspent
	}
	return tokens, s.Connected
}
