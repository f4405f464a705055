package limiter

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"

	"github.com/a1009580/leasehold/internal/clock"
)

// Options is what a Limiter is told. Region and Coordinators are required.
type Options struct {
	// Region is where this process is, by the name that the policy gives it.
	Region string
	// Node tells the processes of a region apart; by default it is the host's
	// name.
	Node string
	// Coordinators are the addresses of the cluster's coordinators, tried in
	// turn: host:port, or any target that gRPC knows.
	Coordinators []string
	// Cluster, if given, is the only cluster whose coordinators are believed;
	// else it is the first one that answers.
	Cluster string
	// DataDir, if given, keeps what a restarted process should know: the last
	// policy, and how far the cluster's history was seen. It is made if need be.
	DataDir string
	// DialOptions are added to those of every connection. Without transport
	// credentials among them, connections are not encrypted.
	DialOptions []grpc.DialOption
	// ColdWait is how long a request of a key that this region does not know
	// yet waits for its first lease, and one that outran its lease for what the
	// coordinator has left, beside the caller's own deadline. The
	// default is one second; below 0 it does not wait at all.
	ColdWait time.Duration
	// Logger is told of connections and policies; by default nobody is.
	Logger *slog.Logger
	// Registerer, if given, is where the metrics are registered.
	Registerer prometheus.Registerer
	// Clock is for Leasehold's own tests and demo. Leave it nil.
	Clock *clock.Clock
}

const (
	defaultColdWait = time.Second
	maxColdWait     = time.Minute
	// maxName is the most bytes of a region's, a node's and a cluster's name.
	maxName = 256
)

// ErrOptions is what an error of New about its Options wraps.
var ErrOptions = errors.New("limiter: invalid option")

// withDefaults returns o with every default spelled out.
func (o Options) withDefaults() Options {
	if o.Node == "" {
		o.Node, _ = os.Hostname() // a host without a name is told apart by its incarnation
	}
	if o.Node == "" {
		o.Node = "node"
	}
	if o.ColdWait == 0 {
		o.ColdWait = defaultColdWait
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// validate returns an error that names the field and its value.
func (o *Options) validate() error {
	invalid := func(field string, value any, why string) error {
		return fmt.Errorf("%w: %s %q: %s", ErrOptions, field, fmt.Sprint(value), why)
	}
	switch {
	case o.Region == "":
		return invalid("Region", o.Region, "must not be empty")
	case len(o.Region) > maxName:
		return invalid("Region", o.Region, fmt.Sprintf("has %d bytes; the most is %d", len(o.Region), maxName))
	case len(o.Node) > maxName:
		return invalid("Node", o.Node, fmt.Sprintf("has %d bytes; the most is %d", len(o.Node), maxName))
	case len(o.Cluster) > maxName:
		return invalid("Cluster", o.Cluster, fmt.Sprintf("has %d bytes; the most is %d", len(o.Cluster), maxName))
	case len(o.Coordinators) == 0:
		return invalid("Coordinators", o.Coordinators, "must name at least one address")
	case o.ColdWait > maxColdWait:
		return invalid("ColdWait", o.ColdWait, fmt.Sprintf("the most is %v", maxColdWait))
	}
	for i, a := range o.Coordinators {
		if strings.TrimSpace(a) == "" || strings.TrimSpace(a) != a {
			return invalid(fmt.Sprintf("Coordinators[%d]", i), a, "must be an address such as 10.0.0.7:7400")
		}
	}
	return nil
}
