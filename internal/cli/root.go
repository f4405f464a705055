package cli

import "github.com/spf13/cobra"

// NewRoot returns the command leasehold, which is all of the project in one
// binary: the demo, tools for policies, and, out of sight, the processes
// themselves, so that demos and drills need nothing else.
func NewRoot() *cobra.Command {
	breakLaw()
	root := &cobra.Command{
		Use:   "leasehold",
		Short: "Quotas that hold across regions",
		Long: `Leasehold leases batches of tokens from one coordinator to the limiters of many
regions, which admit or deny requests from their own memory. The limit holds
across all of them, whatever fails.`,
		Example: "  leasehold demo\n  leasehold policy check policy.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.AddCommand(NewDemo(), NewDrill(), NewPolicy(), NewOvershoot(), NewLinks(), NewVersion())
	for _, p := range []*cobra.Command{NewCoordinator(), NewRegional(), NewEtcd(), NewDrillHost()} {
		p.Hidden = true
		root.AddCommand(p)
	}
	return root
}
