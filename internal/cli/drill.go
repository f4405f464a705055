package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/a1009580/leasehold/chaos/drill/host"
)

// NewDrill returns the command of the drills.
func NewDrill() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "drill",
		Short: "Break a cluster on purpose, and report whether the limit held",
		Long: `A drill starts three members of an etcd, coordinators and regions as real processes
on this machine, asks for more than the limit allows, makes a fault, heals it, and
reports what was admitted against what was promised. It needs no root: processes
are put apart by namespaces of its own, which end with it.`,
		Example: "  leasehold drill list\n  leasehold drill run isolate-region --report isolate-region.html",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newDrillList(), newDrillShow(), newDrillValidate(), newDrillRun(), newDrillMark(), newDrillReport(), newDrillDiff())
	return cmd
}

// NewDrillHost returns the hidden command that is the first process of a drill.
func NewDrillHost() *cobra.Command {
	return &cobra.Command{
		Use:     host.Command,
		Short:   "Be the process that a drill's processes are children of",
		Example: "  leasehold drill run isolate-region",
		Args:    cobra.NoArgs,
		Hidden:  true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			out := os.NewFile(3, "what the drill tells")
			if out == nil {
				return Usagef("this command is for \"leasehold drill run\" alone")
			}
			if err := host.Serve(cmd.InOrStdin(), out, cmd.ErrOrStderr()); err != nil {
				return fmt.Errorf("the drill: %w", err)
			}
			return nil
		},
	}
}
