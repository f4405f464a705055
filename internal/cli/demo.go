package cli

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/a1009580/leasehold/internal/demo"
)

// NewDemo returns the command that shows everything in one process.
func NewDemo() *cobra.Command {
	o := demo.Options{}
	var policyPath string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a coordinator, three regions and traffic, and show what happens",
		Long: `Demo runs everything in one process, on this machine alone: a coordinator with an
embedded etcd, the regions us, eu and ap at 80, 150 and 210 ms from it, and
traffic whose peak moves from region to region. Once a second it shows what each
region admitted and denied, how many tokens are leased, how many of them are
stranded with regions that are cut off, and by how much the limit can be and was
exceeded: bound, observed and margin. Observed is measured from outside, exactly.

With --trace it plays recorded requests instead: CSV lines of
time_ms,region,key,cost in the order of time. When the trace names other regions
than us, eu and ap, those are run, at 150 ms. The key becomes the value of the
entry that --trace-entry names; by default it is the first that the policy's first
quota matches with "*".

With --speed everything runs faster, distances and leases too. The delays of the
machine itself are not scaled: above 20 they begin to matter, and it says so.

It ends with Ctrl-C, or by itself with --duration or at the end of the trace:
leases are returned, ports closed, and the data are removed unless --data-dir was
given. The exit code is 3 when a limit was exceeded by more than its bound.`,
		Example: `  leasehold demo
  leasehold demo --duration 20s --json
  leasehold demo --policy examples/llm-tokens.yaml --trace examples/traces/llm.csv --speed 10`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Duration < 0 {
				return Usagef("--duration %v: must not be below 0", o.Duration)
			}
			if o.Speed <= 0 { // 0 would be taken for "not given"
				return Usagef("--speed %v: must be above 0", o.Speed)
			}
			if policyPath != "" {
				var err error
				if o.Policy, err = os.ReadFile(policyPath); err != nil {
					return Usagef("--policy: %w", err)
				}
				o.PolicyName = policyPath
			}
			o.Out, o.Errors, o.Quiet = cmd.OutOrStdout(), cmd.ErrOrStderr(), asJSON
			o.Terminal = isTerminal(o.Out)
			return runDemo(cmd, o, asJSON)
		},
	}
	f := cmd.Flags()
	f.DurationVar(&o.Duration, "duration", 0, "end after this `time` (default: at Ctrl-C, or with the trace)")
	f.StringVar(&o.DataDir, "data-dir", "", "`directory` that keeps the coordinator's data (default: a temporary one)")
	f.StringVar(&policyPath, "policy", "", "policy `file` (default: 10,000 requests a minute for each api_key)")
	f.StringVar(&o.Trace, "trace", "", "CSV `file` of requests to play")
	f.StringVar(&o.TraceEntry, "trace-entry", "", "`entry` of the descriptor that the trace's key is")
	f.Float64Var(&o.Speed, "speed", 1, "`times` real time at which everything runs")
	f.BoolVar(&asJSON, "json", false, "print nothing but one JSON object at the end")
	return cmd
}

// runDemo runs it until a signal comes.
func runDemo(cmd *cobra.Command, o demo.Options, asJSON bool) error {
	// A reader that leaves, as in "demo | head", must not kill us before we have
	// cleaned up: writing fails then, and the demo ends.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	if o.DataDir == "" {
		scratch, err := os.MkdirTemp("", "leasehold-demo-")
		if err != nil {
			return err
		}
		o.Scratch = scratch
		defer os.RemoveAll(o.Scratch)
	}
	ctx, stop := UntilSignal(cmd.Context(), func(code int) {
		demo.Abandon(o)
		os.Exit(code)
	})
	defer stop()
	r, err := demo.Run(ctx, o)
	var wrong *demo.OptionError
	if errors.As(err, &wrong) {
		return WithCode(Usage, err)
	}
	if r == nil {
		return err
	}
	if asJSON {
		err = errors.Join(err, r.JSON(o.Out))
	} else {
		r.Text(o.Out)
	}
	if err == nil && !r.Kept {
		return WithCode(CheckFailed, errors.New("the limit was exceeded by more than its bound"))
	}
	return err
}

// isTerminal says that a table may be drawn on w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}
