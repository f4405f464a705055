package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/a1009580/leasehold/chaos/drill/engine"
	"github.com/a1009580/leasehold/chaos/drill/fleet"
	"github.com/a1009580/leasehold/chaos/drill/host"
	"github.com/a1009580/leasehold/chaos/drill/report"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/scenario"
	"github.com/a1009580/leasehold/internal/version"
)

// drillFlags are the options of "drill run".
type drillFlags struct {
	dryRun  bool
	quick   bool
	scale   float64
	seed    int64
	mode    string
	files   reportFiles
	target  fleet.Target
	socket  string
	verbose bool
	quiet   bool
}

func newDrillRun() *cobra.Command {
	o := &drillFlags{}
	cmd := &cobra.Command{
		Use:   "run NAME|FILE",
		Short: "Run a drill and report",
		Long: `Run starts everything, loads it, makes the drill's faults, heals them, and reports.
The exit code is 0 for PASS, 3 for FAIL, 4 for INCONCLUSIVE, 1 when the drill could
not be run, 2 for a mistake in the command or the file. Ctrl-C stops the drill; its
report is written all the same, and says so. A second one ends it at once.`,
		Example: `  leasehold drill run isolate-region --time-scale 0.5 --report isolate-region.html
  leasehold drill run mine.yaml --dry-run`,
		Args: oneDrill,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0]) },
	}
	f := cmd.Flags()
	f.SortFlags = false
	f.BoolVar(&o.dryRun, "dry-run", false, "print the plan and the targets, and start nothing")
	f.Float64Var(&o.scale, "time-scale", 1, "`times` as long as the scenario says; the system's own times stay")
	f.BoolVar(&o.quick, "quick", false, "take the least time scale that the scenario allows")
	f.Int64Var(&o.seed, "seed", -1, "`seed` of what is drawn (default: the scenario's)")
	f.StringVar(&o.mode, "mode", host.Namespaces, "how processes are put apart: namespaces, or proxies where those are not allowed")
	o.files.flags(f)
	f.StringToStringVar(&o.target.Regions, "target", nil, "load and measure a running deployment instead: `region=address` of the HTTP of each region, separated by commas. You make the faults, and tell of them by \"leasehold drill mark\"")
	f.StringSliceVar(&o.target.Coordinators, "target-coordinators", nil, "`addresses` of the HTTP of the target's coordinators")
	f.StringVar(&o.socket, "socket", markSocket(), "`file` of the socket on which marks are heard")
	f.BoolVar(&o.quiet, "quiet", false, "print no progress")
	f.BoolVar(&o.verbose, "verbose", false, "print the drill's own log")
	return cmd
}

func (o *drillFlags) check() error {
	switch {
	case o.scale <= 0:
		return Usagef("--time-scale %v: must be above 0", o.scale)
	case o.quick && o.scale != 1:
		return Usagef("--quick and --time-scale exclude each other")
	case len(o.target.Coordinators) > 0 && len(o.target.Regions) == 0:
		return Usagef("--target-coordinators is for --target")
	case o.mode != host.Namespaces && o.mode != host.Proxies:
		return Usagef("--mode %q: must be %s or %s", o.mode, host.Namespaces, host.Proxies)
	}
	return nil
}

func (o *drillFlags) run(cmd *cobra.Command, name string) error {
	if err := o.check(); err != nil {
		return err
	}
	file, s, err := readDrill(name)
	if err != nil {
		return err
	}
	if o.quick {
		o.scale = s.LeastScale
	}
	j := host.Job{File: file, Source: s.Source, Scale: o.scale, Mode: o.mode, Verbose: o.verbose}
	if o.seed >= 0 {
		seed := uint64(o.seed)
		j.Seed = &seed
	}
	scaled, err := j.Scenario()
	if err != nil {
		return WithCode(Usage, err)
	}
	if o.dryRun {
		plan(cmd, scaled, o.mode)
		return nil
	}
	ctx, stop := UntilSignal(cmd.Context(), os.Exit)
	defer stop()
	r, err := o.play(ctx, cmd, j, scaled)
	if errors.Is(err, host.ErrUnavailable) {
		return fmt.Errorf("%w\nWith --mode proxies the drill runs without them: what passes between processes is cut and delayed by proxies, which is less than a real cut", err)
	}
	if r == nil {
		return err
	}
	o.complete(r, name)
	return errors.Join(o.report(cmd, r), err)
}

// play runs the drill in a process of its own, or here, if there is a target that it
// starts nothing beside.
func (o *drillFlags) play(ctx context.Context, cmd *cobra.Command, j host.Job, s *scenario.Scenario) (*result.Result, error) {
	if len(o.target.Regions) == 0 {
		return host.Run(ctx, j, o.progress(cmd))
	}
	logs := LogFlags{Format: "text", Level: "warn"}
	if o.verbose {
		logs.Level = "debug"
	}
	log, err := logs.Logger(cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	hearing, stop := context.WithCancel(ctx)
	defer stop()
	marks, err := hearMarks(hearing, o.socket, func(err error) { log.Warn("a mark was not understood", "error", err) })
	if err != nil {
		return nil, err
	}
	return engine.Run(ctx, engine.Options{Scenario: s, Target: &o.target, Marks: marks, Log: log, Progress: o.progress(cmd)})
}

// progress prints events as they happen.
func (o *drillFlags) progress(cmd *cobra.Command) func(result.Event) {
	if o.quiet {
		return nil
	}
	return func(e result.Event) {
		fmt.Fprintf(cmd.ErrOrStderr(), "%7.2fs  %-14s %s\n", e.AtSeconds, e.Source, e.Text)
	}
}

// complete fills in what only this process knows.
func (o *drillFlags) complete(r *result.Result, name string) {
	p := &r.Reproduction
	p.Version, p.TimeScale = version.String(), o.scale
	p.Command = fmt.Sprintf("leasehold drill run %s --time-scale %v --seed %d", name, o.scale, p.Seed)
	if len(o.target.Regions) == 0 {
		p.Command += " --mode " + o.mode
		return
	}
	for _, region := range slices.Sorted(maps.Keys(o.target.Regions)) {
		p.Command += fmt.Sprintf(" --target %s=%s", region, o.target.Regions[region])
	}
	p.Command += " --target-coordinators " + strings.Join(o.target.Coordinators, ",")
}

// report writes what was asked for and turns the verdict into the exit code.
func (o *drillFlags) report(cmd *cobra.Command, r *result.Result) error {
	written := o.files.write(r)
	if err := errors.Join(written, report.Text(cmd.OutOrStdout(), r)); err != nil {
		return err
	}
	switch r.Verdict.Outcome {
	case result.Pass:
		return nil
	case result.Fail:
		return WithCode(CheckFailed, errors.New("the drill failed"))
	case result.Inconclusive:
	}
	return WithCode(Inconclusive, errors.New("the drill was inconclusive"))
}
