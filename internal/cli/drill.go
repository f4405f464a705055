package cli

import "github.com/spf13/cobra"

// NewDrill returns the commands about drills.
func NewDrill() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "drill",
		Short:   "Break things on purpose, and read what happened",
		Example: "  leasehold drill report isolate-region.json\n  leasehold drill diff before.json after.json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDrillReport(), newDrillDiff())
	return cmd
}
