package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/a1009580/leasehold/chaos/drill/diff"
)

func newDrillDiff() *cobra.Command {
	o := diff.Options{}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff BEFORE.json AFTER.json",
		Short: "Tell what changed between two results of one drill",
		Long: `Diff compares verdict, bound and observed overshoot, expectations, invariants,
decision latency by phase, and recovery times. Each change is a line that begins
with "worse", "better" or "changed". Times that grew by less than the tolerance, and
less than a millisecond for a decision or 100 ms for a recovery, are no change; on
machines that differ they are told and not judged. An HTML report holds its result,
and can be given instead.

The exit code is 0 when nothing became worse, 3 when something did, and 4 when the
results are of different drills, scenarios or time scales. It is 2 when one of the
files is no result.`,
		Example: "  leasehold drill diff before.json after.json\n  leasehold drill diff --tolerance 0.5 --json before.json after.json",
		Args:    exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.Validate(); err != nil {
				return Usagef("--%w", err)
			}
			before, err := readResult(cmd, args[0])
			if err != nil {
				return err
			}
			after, err := readResult(cmd, args[1])
			if err != nil {
				return err
			}
			c := diff.Compare(before, after, o)
			write := c.Text
			if asJSON {
				write = c.JSON
			}
			if err := write(cmd.OutOrStdout()); err != nil {
				return err
			}
			switch {
			case !c.Comparable():
				return WithCode(Inconclusive, errors.New("the results are not of the same drill"))
			case c.Regressed():
				return WithCode(CheckFailed, errors.New("something became worse"))
			}
			return nil
		},
	}
	cmd.Flags().Float64Var(&o.Tolerance, "tolerance", diff.DefaultTolerance, "`share` by which times may grow")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}
