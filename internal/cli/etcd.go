package cli

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/a1009580/leasehold/internal/etcdstore"
)

// NewEtcd returns the command that runs one member of an etcd, most often the
// only one: a store that outlives the coordinators, for demos and drills on one
// machine. Real clusters have an etcd of their own, of three members.
func NewEtcd() *cobra.Command {
	var o etcdstore.EmbeddedOptions
	var logs LogFlags
	cmd := &cobra.Command{
		Use:   "etcd",
		Short: "Run a member of an etcd, for demos and drills",
		Example: `  leasehold etcd --data-dir /tmp/etcd --listen-client 127.0.0.1:7402 --listen-peer 127.0.0.1:7403

  # One of three:
  leasehold etcd --data-dir /tmp/b --name b --listen-client 127.0.0.2:7402 --listen-peer 127.0.0.2:7403 \
    --members a=127.0.0.1:7403,b=127.0.0.2:7403,c=127.0.0.3:7403`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Dir == "" {
				return Usagef("--data-dir must be given")
			}
			if o.Logger, err = logs.Logger(cmd.ErrOrStderr()); err != nil {
				return err
			}
			ctx, stop := UntilSignal(cmd.Context(), os.Exit)
			defer stop()
			e, err := etcdstore.Start(ctx, o)
			var busy *etcdstore.AddressError
			if errors.As(err, &busy) && errors.Is(err, syscall.EADDRINUSE) {
				return BusyPort("listen-"+busy.Role, busy.Addr)
			}
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, e.Close()) }()
			fmt.Fprintf(cmd.OutOrStdout(), "etcd serves %s\n", e.ClientAddr())
			select {
			case err := <-e.Err():
				return err
			case <-ctx.Done():
				return nil
			}
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Dir, "data-dir", "", "`directory` of the data, made if need be (required)")
	f.StringVar(&o.ClientAddr, "listen-client", etcdstore.DefaultClientAddr, "`address` for clients")
	f.StringVar(&o.PeerAddr, "listen-peer", etcdstore.DefaultPeerAddr, "`address` for other members")
	f.StringVar(&o.Name, "name", "", "`name` of this member (default: leasehold)")
	f.StringToStringVar(&o.Members, "members", nil, "`name=address` for peers of every member, separated by commas (default: this one alone)")
	logs.Register(f)
	return cmd
}
