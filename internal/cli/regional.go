package cli

import (
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/a1009580/leasehold/internal/regional"
	"github.com/a1009580/leasehold/limiter"
)

// Default addresses of a regional process.
const (
	regionalGRPC = "127.0.0.1:7500"
	regionalHTTP = "127.0.0.1:7501"
)

// NewRegional returns the command that runs a regional limiter.
func NewRegional() *cobra.Command {
	o := regional.Options{}
	var at addresses
	var logs LogFlags
	cmd := &cobra.Command{
		Use:   "regional",
		Short: "Run the limiter of one region",
		Long: `Regional admits or denies requests of one region from its own memory. It leases
tokens from the coordinator, and goes on with what it holds while it is cut off.

It serves leasehold.v1.Limiter over gRPC, and over HTTP /v1/check, /v1/overshoot,
/v1/status, /metrics, /healthz, /readyz and /debug/pprof; to Envoy its rate-limit
protocol over gRPC, and over HTTP /json and /healthcheck. On SIGTERM it turns
unready, finishes its requests, returns its leases and exits with 0. SIGHUP does
nothing: the policy comes from the coordinator.

Every option can also be set by an environment variable (` + Env("regional", "listen") + `, else
` + Env("", "listen") + `, for --listen) or in the file of --config. A flag goes first, then
the environment, then the file.`,
		Example: `  regional --region eu --coordinator 127.0.0.1:7400
  regional --region us --node us-1 --coordinator 10.0.0.7:7400,10.0.0.8:7400 --listen 0.0.0.0:7500 --data-dir /var/lib/leasehold
  curl -i 'http://127.0.0.1:7501/v1/check?domain=api&api_key=k'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Limiter.Region == "" {
				return Usagef("--region must be given")
			}
			if len(o.Limiter.Coordinators) == 0 {
				return Usagef("--coordinator must be given")
			}
			if o.Logger, err = logs.Logger(cmd.ErrOrStderr()); err != nil {
				return err
			}
			ctx, stop := UntilSignal(cmd.Context(), os.Exit)
			defer stop()
			defer heedHangups(func() {
				o.Logger.Info("SIGHUP: there is nothing to read again; a region takes its policy from the coordinator")
			})()
			if err := at.listen(ctx, &o); err != nil {
				return err
			}
			s, err := regional.New(o)
			if err != nil {
				err = errors.Join(err, closeAll(&o))
				if errors.Is(err, limiter.ErrOptions) {
					return WithCode(Usage, err)
				}
				return err
			}
			announce(cmd, &logs, "region %s serves gRPC on %s and HTTP on %s", o.Limiter.Region, o.GRPC.Addr(), o.HTTP.Addr())
			return s.Run(ctx)
		},
	}
	f := cmd.Flags()
	ConfigFlag(f)
	f.StringVar(&o.Limiter.Region, "region", "", "`name` of the region, as in the policy (required)")
	f.StringVar(&o.Limiter.Node, "node", "", "`name` of this process within its region (default: the host's name)")
	f.StringSliceVar(&o.Limiter.Coordinators, "coordinator", nil, "`addresses` of the coordinators, separated by commas (required)")
	f.StringVar(&o.Limiter.Cluster, "cluster", "", "`name` of the only cluster to believe (default: the first that answers)")
	f.StringVar(&o.Limiter.DataDir, "data-dir", "", "`directory` that keeps the policy over restarts, made if need be")
	f.DurationVar(&o.Limiter.ColdWait, "cold-wait", time.Second, "`time` that a request of an unknown key waits for its first lease; below 0 it does not")
	f.StringVar(&at.grpc, "listen", regionalGRPC, "`address` of gRPC")
	f.StringVar(&at.http, "http", regionalHTTP, "`address` of HTTP")
	f.StringVar(&at.proxies, "envoy-listen", "", "second `address` of gRPC, such as 0.0.0.0:8081, where Envoy looks for a rate-limit service (default: none)")
	f.StringVar(&at.socket, "envoy-socket", "", "`path` of a unix socket for gRPC; one that a process left behind is replaced (default: none)")
	f.Var(&o.EnvoyHeaders, "envoy-headers", "`when` answers to Envoy carry RateLimit fields for the client: denied, always or never")
	f.Var(&o.EnvoyMetadata, "envoy-metadata", "`when` answers to Envoy carry dynamic metadata for other filters: denied, always or never")
	f.BoolVar(&o.EnvoyQuota, "envoy-quota", false, "experimental: serve Envoy's quota protocol, by which proxies limit by themselves; read what it adds to the promise first")
	f.BoolVar(&o.LegacyHeaders, "legacy-headers", false, "answer over HTTP with X-RateLimit-Limit, -Remaining and -Reset too, for clients that know no other")
	f.DurationVar(&o.DrainDelay, "drain-delay", 500*time.Millisecond, "`time` between turning unready and refusing requests, so that load balancers notice")
	f.DurationVar(&o.DrainTimeout, "drain-timeout", 5*time.Second, "`time` that requests in flight, and then the goodbye to the coordinator, may take")
	logs.Register(f)
	return cmd
}
