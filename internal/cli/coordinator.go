package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/internal/coordinator"
	"github.com/a1009580/leasehold/internal/etcdstore"
	"github.com/a1009580/leasehold/lease"
)

// coordinatorFlags are the options of the coordinator's command.
type coordinatorFlags struct {
	logs         LogFlags
	listen, http string
	policy       string
	ratelimit    string
	minFreeDisk  int64
	drift        int64
	etcd         coordinator.EtcdOptions
	serve        coordinator.Options
}

// NewCoordinator returns the command that runs a coordinator.
func NewCoordinator() *cobra.Command {
	o := &coordinatorFlags{}
	cmd := &cobra.Command{
		Use:   "coordinator",
		Short: "Own the balances of all quotas and lease tokens to the regions",
		Long: `The coordinator owns every quota's balance and leases batches of tokens to the
regional limiters. It keeps its records in an etcd that it embeds, or in an
external one with --etcd-endpoints; then several coordinators can stand by, and
one of them leads.

It reads the policy again when the file changes or on SIGHUP; a bad one changes
nothing. SIGTERM ends it in good order, a second one at once.

Every option can also be set by an environment variable (` + Env("coordinator", "listen") + `,
else ` + Env("", "listen") + `, for --listen) or in the file of --config. A flag goes
first, then the environment, then the file.`,
		Example: `  # The first start of a cluster, with everything on this machine:
  coordinator --data-dir /var/lib/leasehold --policy policy.yaml --new-cluster

  # The limits of envoyproxy/ratelimit, from the directory that holds them:
  coordinator --data-dir /var/lib/leasehold --ratelimit-config /srv/ratelimit/config --new-cluster

  # One of several, on an etcd of three members:
  coordinator --policy policy.yaml --etcd-endpoints a:2379,b:2379,c:2379 \
    --listen 0.0.0.0:7400 --advertise coordinator-1:7400`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.register(cmd.Flags())
	return cmd
}

func (o *coordinatorFlags) register(f *pflag.FlagSet) {
	f.SortFlags = false
	f.StringVar(&o.policy, "policy", "", "policy `file`, or a directory of such files (required, or --ratelimit-config)")
	f.StringVar(&o.ratelimit, "ratelimit-config", "", "`directory` of files as envoyproxy/ratelimit has them, instead of --policy")
	f.StringVar(&o.etcd.DataDir, "data-dir", "", "`directory` of the embedded etcd, made if need be")
	f.BoolVar(&o.serve.NewCluster, "new-cluster", false, "begin a new cluster if the store is empty; every bucket is full then")
	f.StringVar(&o.serve.Cluster, "cluster", coordinator.DefaultCluster, "`name` of the cluster")
	f.StringVar(&o.listen, "listen", "127.0.0.1:7400", "`address` of gRPC, for regional limiters")
	f.StringVar(&o.http, "http", "127.0.0.1:7401", "`address` of HTTP, for operators: metrics, health, status")
	f.StringVar(&o.serve.Advertise, "advertise", "", "`address` that regional limiters reach --listen at (default: that of --listen)")
	f.StringSliceVar(&o.etcd.Endpoints, "etcd-endpoints", nil, "`addresses` of an external etcd, instead of an embedded one")
	f.StringVar(&o.etcd.ClientAddr, "etcd-listen-client", etcdstore.DefaultClientAddr, "`address` of the embedded etcd for clients")
	f.StringVar(&o.etcd.PeerAddr, "etcd-listen-peer", etcdstore.DefaultPeerAddr, "`address` of the embedded etcd for peers")
	f.DurationVar(&o.etcd.ElectionTTL, "election-ttl", 0, fmt.Sprintf("how long a leader that vanished keeps its place, in whole seconds (default %v with the embedded etcd, %v with an external one)",
		etcdstore.EmbeddedTTL, etcdstore.DefaultTTL))
	f.Int64Var(&o.minFreeDisk, "min-free-disk", etcdstore.DefaultWatermark, "free `bytes` of disk below which the embedded etcd is not written to")
	f.DurationVar(&o.serve.ReportInterval, "report-interval", coordinator.DefaultReportInterval, "how often regional limiters report changes")
	f.Int64Var(&o.drift, "drift", int64(lease.DefaultDrift), "by how much clocks may be wrong, in parts per million")
	f.IntVar(&o.serve.MaxBuckets, "max-buckets", coordinator.DefaultMaxBuckets, "the most buckets in memory")
	f.DurationVar(&o.serve.DrainTimeout, "drain-timeout", coordinator.DefaultDrainTimeout, "how long an orderly end may take to write back what is set aside")
	f.BoolVar(&o.serve.TrustStore, "trust-restored-store", false, "take a store that was restored from a copy at its word: nothing was granted since")
	ConfigFlag(f)
	o.logs.Register(f)
}

// check refuses what cannot be meant.
func (o *coordinatorFlags) check() error {
	switch {
	case o.policy == "" && o.ratelimit == "":
		return Usagef("--policy must be given, or --ratelimit-config")
	case o.policy != "" && o.ratelimit != "":
		return Usagef("--policy and --ratelimit-config are two sources of one policy: give one of them")
	case o.etcd.DataDir == "" && len(o.etcd.Endpoints) == 0:
		return Usagef("--data-dir must be given, or --etcd-endpoints for an external etcd")
	case o.etcd.DataDir != "" && len(o.etcd.Endpoints) > 0:
		return Usagef("--data-dir is of the embedded etcd, --etcd-endpoints of an external one: give one of them")
	case o.serve.Cluster == "" || len(o.serve.Cluster) > 64 || strings.Contains(o.serve.Cluster, "/"):
		return Usagef("--cluster %q: must be 1 to 64 bytes without a slash", o.serve.Cluster)
	case o.etcd.ElectionTTL != 0 && o.etcd.ElectionTTL < time.Second || o.etcd.ElectionTTL%time.Second != 0:
		return Usagef("--election-ttl %v: must be whole seconds, at least 1s", o.etcd.ElectionTTL)
	case o.drift < 1 || o.drift > 100_000:
		return Usagef("--drift %d: must be from 1 to 100000 parts per million", o.drift)
	case o.minFreeDisk < 1:
		return Usagef("--min-free-disk %d: must be at least 1", o.minFreeDisk)
	case o.serve.MaxBuckets < 1:
		return Usagef("--max-buckets %d: must be at least 1", o.serve.MaxBuckets)
	case o.serve.ReportInterval < time.Millisecond || o.serve.ReportInterval > time.Minute:
		return Usagef("--report-interval %v: must be from 1ms to 1m", o.serve.ReportInterval)
	case o.serve.DrainTimeout <= 0:
		return Usagef("--drain-timeout %v: must be above 0", o.serve.DrainTimeout)
	}
	return nil
}

func (o *coordinatorFlags) run(cmd *cobra.Command) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	log, err := o.logs.Logger(cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	if o.policy, o.serve.Policy, err = o.readPolicy(); err != nil {
		return err
	}
	ctx, stop := UntilSignal(cmd.Context(), os.Exit)
	defer stop()
	hangups, stopHangups := OnHangup()
	defer stopHangups()
	o.serve.Reload, o.serve.PolicyFile, o.serve.PolicyName = hangups, o.policy, o.policy
	o.serve.Drift, o.serve.Log, o.serve.Registry = lease.Drift(o.drift), log, NewRegistry()

	if o.serve.Listener, err = Listen(ctx, "listen", o.listen); err != nil {
		return err
	}
	defer o.serve.Listener.Close() // a second time, unless the server never ran
	if o.serve.HTTPListener, err = Listen(ctx, "http", o.http); err != nil {
		return err
	}
	defer o.serve.HTTPListener.Close() // likewise
	return o.open(ctx, cmd, log)
}

// readPolicy reads the policy, and says where it is.
func (o *coordinatorFlags) readPolicy() (path string, data []byte, err error) {
	path, flag := o.policy, "--policy"
	if o.ratelimit != "" {
		path, flag = o.ratelimit, "--ratelimit-config"
	}
	if data, err = coordinator.ReadPolicy(path); err != nil {
		return "", nil, Usagef("%s: %w", flag, err)
	}
	if err := coordinator.CheckPolicy(path, data); err != nil {
		return "", nil, refusedf("the policy is refused:\n%w", err)
	}
	return path, data, nil
}

// open opens the store and serves until ctx ends.
func (o *coordinatorFlags) open(ctx context.Context, cmd *cobra.Command, log *slog.Logger) (err error) {
	if o.etcd.ElectionTTL == 0 && o.etcd.DataDir != "" {
		o.etcd.ElectionTTL = etcdstore.EmbeddedTTL
	}
	o.etcd.Cluster, o.etcd.Log, o.etcd.MinFreeDisk = o.serve.Cluster, log, uint64(o.minFreeDisk)
	backing, err := coordinator.OpenEtcd(ctx, o.etcd)
	var busy *etcdstore.AddressError
	switch {
	case errors.As(err, &busy) && errors.Is(err, syscall.EADDRINUSE):
		return BusyPort("etcd-listen-"+busy.Role, busy.Addr)
	case err != nil && ctx.Err() != nil:
		return nil // ended before it began
	case err != nil:
		return fmt.Errorf("open the store: %w", err)
	}
	defer func() { err = errors.Join(err, backing.Close()) }()
	o.serve.Backing = *backing

	o.serve.Clock = clock.New(1)
	beating, stopBeat := context.WithCancel(context.WithoutCancel(ctx))
	beat := make(chan struct{})
	go func() {
		defer close(beat)
		o.serve.Clock.Run(beating)
	}()
	defer func() { stopBeat(); <-beat }()
	server, err := coordinator.New(o.serve)
	if err != nil {
		return WithCode(Usage, err)
	}
	announce(cmd, &o.logs, "coordinator of cluster %s serves gRPC on %s and HTTP on %s", o.serve.Cluster, o.serve.Listener.Addr(), o.serve.HTTPListener.Addr())
	return server.Run(ctx)
}
