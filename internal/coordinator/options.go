package coordinator

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/lease"
)

// Options are the choices of New. Durations are real time unless they say that
// they are of the clock.
type Options struct {
	// Cluster is the name that the store, the coordinators and the holders of
	// one cluster share; "" means DefaultCluster.
	Cluster string
	// Listener serves gRPC and HTTPListener HTTP; both are required, and closed
	// when Run returns.
	Listener, HTTPListener net.Listener
	// Advertise is the address that holders are told to find this coordinator
	// at; "" means that of Listener.
	Advertise string
	// Backing is where records and elections are kept; required. Its owner
	// closes it after Run returned.
	Backing Backing
	// Clock is the coordinator's; required. Its owner runs it.
	Clock *clock.Clock

	// Policy is the policy to enforce, PolicyName what its errors call it.
	Policy     []byte
	PolicyName string
	// PolicyFile, if it is not "", is watched for a new policy, every PollPolicy
	// and whenever Reload receives.
	PolicyFile string
	PollPolicy time.Duration
	Reload     <-chan os.Signal

	// ReportInterval (of the clock) is how often holders report changes.
	ReportInterval time.Duration
	// Drift is by how much clocks may be wrong; 0 means lease.DefaultDrift.
	Drift lease.Drift
	// NewCluster allows a store that never granted anything; a store that has a
	// past makes it mean nothing.
	NewCluster bool
	// TrustStore takes a store that lost its past at its word.
	TrustStore bool
	// MaxBuckets bounds the buckets in memory, MaxStreams those of holders.
	MaxBuckets int
	MaxStreams int
	// DrainTimeout is how long an orderly end may take to write back what is
	// set aside, ResignTimeout how long it then tries to resign.
	DrainTimeout, ResignTimeout time.Duration
	// HelloTimeout is how long a new stream may take to say its Hello.
	HelloTimeout time.Duration

	Log *slog.Logger
	// Registry takes the metrics; nil means a new one.
	Registry *prometheus.Registry

	namesake  time.Duration // for tests, 0 means longNamesake
	maxQueued int           // entries that wait for one holder; for tests, 0 means maxQueuedEntries
}

// Defaults of Options.
const (
	DefaultCluster        = "default"
	DefaultReportInterval = 100 * time.Millisecond
	DefaultMaxBuckets     = 4_000_000
	DefaultMaxStreams     = 4_096
	DefaultDrainTimeout   = 10 * time.Second
	DefaultResignTimeout  = 5 * time.Second
	DefaultHelloTimeout   = 10 * time.Second
	DefaultPollPolicy     = 2 * time.Second
)

// complete fills in the defaults and says what is wrong.
func (o Options) complete() (Options, error) {
	if o.Cluster == "" {
		o.Cluster = DefaultCluster
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.PolicyName == "" {
		o.PolicyName = "policy"
	}
	for _, d := range []struct {
		value    *time.Duration
		standard time.Duration
	}{
		{&o.namesake, longNamesake},
		{&o.PollPolicy, DefaultPollPolicy},
		{&o.ReportInterval, DefaultReportInterval},
		{&o.DrainTimeout, DefaultDrainTimeout},
		{&o.ResignTimeout, DefaultResignTimeout},
		{&o.HelloTimeout, DefaultHelloTimeout},
	} {
		if *d.value == 0 {
			*d.value = d.standard
		}
	}
	if o.Drift == 0 {
		o.Drift = lease.DefaultDrift
	}
	if o.maxQueued == 0 {
		o.maxQueued = maxQueuedEntries
	}
	if o.MaxBuckets == 0 {
		o.MaxBuckets = DefaultMaxBuckets
	}
	if o.MaxStreams == 0 {
		o.MaxStreams = DefaultMaxStreams
	}
	if err := o.check(); err != nil {
		return o, err
	}
	if o.Advertise == "" {
		o.Advertise = o.Listener.Addr().String()
		if a, ok := o.Listener.Addr().(*net.TCPAddr); ok && a.IP.IsUnspecified() {
			o.Log.Warn("no address is advertised, so that holders that come to a standby are sent to one that means themselves",
				"advertise", o.Advertise)
		}
	}
	return o, nil
}

const (
	leastInterval, longestInterval = time.Millisecond, time.Minute
	largestDrift                   = 100_000
	longestName                    = 64
)

// check names the first option that is not as it must be.
func (o *Options) check() error {
	switch {
	case strings.Contains(o.Cluster, "/") || len(o.Cluster) > longestName:
		return fmt.Errorf("cluster %q: must be at most %d bytes without a slash", o.Cluster, longestName)
	case o.Listener == nil || o.HTTPListener == nil:
		return errors.New("coordinator: a listener is missing")
	case o.Backing.Store == nil || o.Backing.Elector == nil:
		return errors.New("coordinator: the store is missing")
	case o.Clock == nil:
		return errors.New("coordinator: the clock is missing")
	case o.ReportInterval < leastInterval || o.ReportInterval > longestInterval:
		return fmt.Errorf("report interval %v: must be from %v to %v", o.ReportInterval, leastInterval, longestInterval)
	case o.Drift < 0 || o.Drift > largestDrift:
		return fmt.Errorf("drift %d: must be from 1 to %d parts per million", o.Drift, largestDrift)
	case o.MaxBuckets < 1:
		return fmt.Errorf("bucket maximum %d: must be at least 1", o.MaxBuckets)
	case o.MaxStreams < 1:
		return fmt.Errorf("stream maximum %d: must be at least 1", o.MaxStreams)
	case o.DrainTimeout < 0 || o.ResignTimeout < 0 || o.HelloTimeout < 0 || o.PollPolicy < 0:
		return errors.New("a timeout is negative")
	}
	return nil
}
