package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/a1009580/leasehold/chaos/drill/scenario"
)

// listed is a drill as "drill list --json" has it.
type listed struct {
	Name      string  `json:"name"`
	Title     string  `json:"title"`
	Safety    bool    `json:"safety"`
	Seconds   float64 `json:"seconds,omitempty"` // without the start
	Least     float64 `json:"least_time_scale,omitempty"`
	Available bool    `json:"available"`
	Why       string  `json:"why_not,omitempty"`
}

func newDrillList() *cobra.Command {
	var asJSON, names, missing bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the drills that are built in",
		Example: "  leasehold drill list\n  for d in $(leasehold drill list --names); do leasehold drill run $d --json $d.json; done",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			all, err := scenario.Builtin()
			if err != nil {
				return err
			}
			var list []listed
			for _, s := range all {
				list = append(list, listed{s.Name, s.Title, s.Safety, s.Phases.Total().Seconds(), s.LeastScale, true, ""})
			}
			for _, u := range scenario.NotHere() {
				list = append(list, listed{Name: u.Name, Title: u.Title, Why: u.Why})
			}
			if asJSON {
				e := json.NewEncoder(cmd.OutOrStdout())
				e.SetIndent("", "  ")
				return e.Encode(list)
			}
			if names || missing {
				drillNames(cmd, list, names, missing)
				return nil
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "NAME\tABOUT\tSECONDS\tWHAT HAPPENS")
			for _, l := range list {
				about, seconds, title := "service", fmt.Sprint(l.Seconds), l.Title
				if l.Safety {
					about = "promise"
				}
				if !l.Available {
					about, seconds, title = "-", "-", l.Title+" (not available: "+l.Why+")"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", l.Name, about, seconds, title)
			}
			return w.Flush()
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().BoolVar(&names, "names", false, "print the names of those that can be run here, a line each")
	cmd.Flags().BoolVar(&missing, "not-run", false, "print NAME=WHY of those that cannot, a line each, as drill report takes it")
	return cmd
}

// drillNames prints what scripts read.
func drillNames(cmd *cobra.Command, list []listed, names, missing bool) {
	for _, l := range list {
		switch {
		case l.Available && names:
			fmt.Fprintln(cmd.OutOrStdout(), l.Name)
		case !l.Available && missing:
			fmt.Fprintf(cmd.OutOrStdout(), "%s=%s\n", l.Name, l.Why)
		}
	}
}

func newDrillShow() *cobra.Command {
	return &cobra.Command{
		Use:     "show NAME|FILE",
		Short:   "Print a drill's scenario, which can be changed and run from a file",
		Example: "  leasehold drill show isolate-region > mine.yaml",
		Args:    oneDrill,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, s, err := readDrill(args[0])
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(s.Source)
			return err
		},
	}
}

func oneDrill(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return Usagef("name one drill, or the file of one")
	}
	return nil
}

func newDrillValidate() *cobra.Command {
	return &cobra.Command{
		Use:     "validate FILE...",
		Short:   "Check files of scenarios",
		Example: "  leasehold drill validate mine.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return Usagef("name at least one file")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var all []error
			for _, file := range args {
				_, s, err := readDrill(file)
				if err != nil {
					all = append(all, err)
					continue
				}
				fmt.Fprintf(cmd.OutOrStdout(), "%s: %s is a drill of %v\n", file, s.Name, s.Phases.Total())
			}
			return errors.Join(all...)
		},
	}
}

// readDrill reads a drill that is built in, or a file: what ends with .yaml or has
// a separator in it, or is there.
func readDrill(name string) (file string, s *scenario.Scenario, err error) {
	if !strings.HasSuffix(name, ".yaml") && !strings.HasSuffix(name, ".yml") && !strings.ContainsRune(name, filepath.Separator) {
		if _, err := os.Stat(name); errors.Is(err, fs.ErrNotExist) {
			s, err := scenario.Find(name)
			if err != nil {
				return "", nil, WithCode(Usage, err)
			}
			return name + ".yaml", s, nil
		}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return "", nil, WithCode(Usage, err)
	}
	if s, err = scenario.Parse(name, data); err != nil {
		return "", nil, refusedf("%w", err)
	}
	return name, s, nil
}

// plan prints what a drill would do.
func plan(cmd *cobra.Command, s *scenario.Scenario, mode string) {
	w := cmd.OutOrStdout()
	fmt.Fprintf(w, "%s: %s\n\n%s\n\n", s.Name, s.Title, s.Purpose)
	fmt.Fprintf(w, "processes (%s): %s\n", mode, strings.Join(s.Topology.Names(), ", "))
	for _, r := range s.Topology.Regions {
		fmt.Fprintf(w, "  %s is %v from the coordinators", r.Name, r.RoundTrip)
		if r.Loss > 0 {
			fmt.Fprintf(w, ", %.3g%% of the segments are lost", 100*r.Loss)
		}
		fmt.Fprintf(w, ", and is asked for %v tokens a second\n", s.Load.At(r.Name, 0))
	}
	fmt.Fprintf(w, "limit: %s, %s\n\n", s.Quota.Limit.String(), s.Quota.Partition.Mode)
	at := func(t time.Duration, format string, args ...any) {
		fmt.Fprintf(w, "%8s  %s\n", t.Round(10*time.Millisecond), fmt.Sprintf(format, args...))
	}
	at(0, "baseline")
	at(s.Phases.Baseline, "fault")
	for i := range s.Faults {
		f := &s.Faults[i]
		at(s.Phases.Baseline+f.At, "  %s, for %v", f.String(), f.For)
	}
	at(s.Phases.Baseline+s.Phases.Fault, "recovery")
	at(s.Phases.Total(), "end")
	fmt.Fprintln(w, "\nexpected:\n  promise")
	for i := range s.Expect {
		fmt.Fprintf(w, "  %s\n", s.Expect[i].ID())
	}
}
