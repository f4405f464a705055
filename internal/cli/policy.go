package cli

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/a1009580/leasehold/internal/coordinator"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// NewPolicy returns the commands about policy files.
func NewPolicy() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "policy",
		Short:   "Check policy files, tell two apart, and import those of others",
		Example: "  leasehold policy check policy.yaml\n  leasehold policy diff old.yaml new.yaml\n  leasehold policy import config/ > policy.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyCheck(), newPolicyDiff(), newPolicyImport())
	return cmd
}

func newPolicyCheck() *cobra.Command {
	var roundTrip, reportInterval time.Duration
	cmd := &cobra.Command{
		Use:   "check PATH",
		Short: "Say what is wrong with a policy, and what may surprise",
		Long: `Check reads a policy as the coordinator does, a file or a directory. Every problem is told with file,
line and column on standard error, and the exit code is 2. What is valid and may
still surprise is told as a warning, and the exit code is 0.`,
		Example: "  leasehold policy check policy.yaml\n  leasehold policy check --round-trip 150ms - < policy.yaml",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := readPolicy(cmd, args[0])
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			for _, w := range set.Warnings(roundTrip, reportInterval) {
				fmt.Fprintf(out, "%s:%d:%d: warning: %s: %s\n", w.File, w.Line, w.Column, w.Quota, w.Text)
			}
			quotas := 0
			for _, d := range set.Domains {
				quotas += len(d.Quotas)
			}
			sum := set.Fingerprint()
			fmt.Fprintf(out, "%s: valid: domains %d, quotas %d, fingerprint %x\n", args[0], len(set.Domains), quotas, sum[:6])
			return nil
		},
	}
	cmd.Flags().DurationVar(&roundTrip, "round-trip", 200*time.Millisecond, "longest `time` from a region to the coordinator and back, for warnings")
	cmd.Flags().DurationVar(&reportInterval, "report-interval", 100*time.Millisecond, "`time` between reports, for warnings")
	return cmd
}

func newPolicyDiff() *cobra.Command {
	return &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Tell in words what changes between two policies",
		Long: `Diff prints one line for each change that NEW makes to OLD, and nothing when both
mean the same. A coordinator that enforces OLD refuses NEW as a whole when a
quota changes its algorithm or its windows under the same name: such lines begin
with "refused", and the exit code is 3. It is 2 when one of the files is not
valid.`,
		Example: "  leasehold policy diff old.yaml new.yaml",
		Args:    exactly(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			before, err := readPolicy(cmd, args[0])
			if err != nil {
				return err
			}
			after, err := readPolicy(cmd, args[1])
			if err != nil {
				return err
			}
			for _, c := range policy.Diff(before, after) {
				fmt.Fprintf(cmd.OutOrStdout(), "%-8s %v\n", c.Kind, c)
			}
			refused := incompatible(before, after)
			for _, quota := range refused {
				fmt.Fprintf(cmd.OutOrStdout(), "%-8s %s: it changes its algorithm or its windows: give it a new name\n", "refused", quota)
			}
			if len(refused) > 0 {
				return WithCode(CheckFailed, fmt.Errorf("a coordinator that enforces %s refuses %s (quotas: %d)", args[0], args[1], len(refused)))
			}
			return nil
		},
	}
}

func newPolicyImport() *cobra.Command {
	return &cobra.Command{
		Use:   "import PATH",
		Short: "Turn the configuration of envoyproxy/ratelimit into a policy",
		Long: `Import reads files as envoyproxy/ratelimit has them, one or a directory, and
writes the policy that a coordinator makes of them: with every default spelled
out, so that leases and failure modes can be set where they stand. A coordinator
reads such files as they are, too (--ratelimit-config).`,
		Example: "  leasehold policy import /srv/ratelimit/config > policy.yaml",
		Args:    exactly(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			set, err := readPolicy(cmd, args[0])
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(set.MarshalCanonical())
			return err
		},
	}
}

// incompatible names the quotas for whose change a running coordinator refuses a
// policy.
func incompatible(before, after *policy.Set) []string {
	var names []string
	old, next := before.Terms(), after.Terms()
	for i := range next {
		if lease.Compatible(old, next[i:i+1]) != nil {
			names = append(names, next[i].Quota)
		}
	}
	return names
}

// exactly asks for n arguments, by a usage error.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		return WithCode(Usage, cobra.ExactArgs(n)(cmd, args))
	}
}

// readPolicy reads a policy file, or standard input for "-". Its problems are
// told one a line, as editors and scripts want them.
func readPolicy(cmd *cobra.Command, path string) (*policy.Set, error) {
	var data []byte
	var err error
	if path == "-" {
		data, err = io.ReadAll(io.LimitReader(cmd.InOrStdin(), policy.MaxBytes+1))
	} else {
		data, err = coordinator.ReadPolicy(path)
	}
	if err != nil {
		return nil, WithCode(Usage, err)
	}
	set, err := coordinator.ParsePolicy(path, data)
	var problems policy.Errors
	if errors.As(err, &problems) {
		fmt.Fprintln(cmd.ErrOrStderr(), problems)
		return nil, refusedf("%s is not a valid policy (problems: %d)", path, len(problems))
	}
	return set, err
}
