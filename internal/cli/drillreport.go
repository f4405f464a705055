package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/a1009580/leasehold/chaos/drill/report"
	"github.com/a1009580/leasehold/chaos/drill/result"
)

// reportFiles are where the reports of a result go.
type reportFiles struct {
	html, json, junit string
}

func (f *reportFiles) flags(set *pflag.FlagSet) {
	set.StringVar(&f.html, "report", "", "write the report as one HTML `file`")
	set.StringVar(&f.json, "json", "", "write the result as a JSON `file`")
	set.StringVar(&f.junit, "junit", "", "write the outcome as a JUnit XML `file`")
}

// any says that some file is wanted.
func (f *reportFiles) any() bool { return f.html != "" || f.json != "" || f.junit != "" }

// write writes the files that are wanted.
func (f *reportFiles) write(r *result.Result) error {
	for _, x := range []struct {
		path  string
		write func(io.Writer) error
	}{
		{f.json, r.Write}, // first: all others can be made of it
		{f.html, func(w io.Writer) error { return report.HTML(w, r) }},
		{f.junit, func(w io.Writer) error { return report.JUnit(w, r) }},
	} {
		if err := writeFile(x.path, x.write); err != nil {
			return err
		}
	}
	return nil
}

// writeFile writes a file in one go, once its content is complete. It does nothing
// without a path.
func writeFile(path string, write func(io.Writer) error) error {
	if path == "" {
		return nil
	}
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, b.Bytes(), 0o644) //nolint:gosec // a report is for others to read
}

// readResult reads a result or the HTML report that holds it, from standard input
// for "-".
func readResult(cmd *cobra.Command, path string) (*result.Result, error) {
	in := cmd.InOrStdin()
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, WithCode(Usage, err)
		}
		defer f.Close()
		in = f
	}
	r, err := report.Read(in)
	if err != nil {
		return nil, refusedf("%s: %w", path, err)
	}
	return r, nil
}

func newDrillReport() *cobra.Command {
	var files reportFiles
	var index string
	var notRun []string
	cmd := &cobra.Command{
		Use:   "report RESULT.json...",
		Short: "Write reports of results, and an index of many",
		Long: `Report makes of a result what a run makes of it: the report on the terminal, as
HTML and as JUnit XML. The result is the whole: nothing is run, and the verdict is
the one that it holds. An HTML report holds its result, and is read as well.

With --index it writes one HTML page over all results, what needs attention first.
It links to the report of x.json where x.html is beside it. --junit takes any number
of results too, each a test suite; --report and --json take one.

The exit code is 0 when all was written, whatever the verdicts are.`,
		Example: `  leasehold drill report isolate-region.json
  leasehold drill report --report isolate-region.html isolate-region.json
  leasehold drill report --index index.html --junit drills.xml *.json`,
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0 && index == "":
				return Usagef("name at least one result")
			case len(args) > 1 && (files.html != "" || files.json != ""):
				return Usagef("--report and --json take one result, not %d", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var all []*result.Result
			for _, path := range args {
				r, err := readResult(cmd, path)
				if err != nil {
					return err
				}
				all = append(all, r)
			}
			if index == "" && !files.any() {
				return printReports(cmd.OutOrStdout(), all)
			}
			junit := files.junit
			files.junit = "" // of all results, not of one
			if len(all) == 1 {
				if err := files.write(all[0]); err != nil {
					return err
				}
			}
			if err := writeFile(junit, func(w io.Writer) error { return report.JUnit(w, all...) }); err != nil {
				return err
			}
			return writeIndex(index, args, all, notRun)
		},
	}
	files.flags(cmd.Flags())
	cmd.Flags().StringVar(&index, "index", "", "write an index of all results as an HTML `file`")
	cmd.Flags().StringArrayVar(&notRun, "not-run", nil, "list a drill in the index as `NAME=WHY` it was not run")
	return cmd
}

func printReports(w io.Writer, all []*result.Result) error {
	for i, r := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := report.Text(w, r); err != nil {
			return err
		}
	}
	return nil
}

// writeIndex writes the index of results that were read from paths.
func writeIndex(index string, paths []string, all []*result.Result, notRun []string) error {
	if index == "" {
		return nil
	}
	entries := make([]report.Entry, len(all))
	for i, r := range all {
		entries[i] = report.Entry{Result: r, Report: reportBeside(index, paths[i])}
	}
	not := make([]report.Unavailable, len(notRun))
	for i, s := range notRun {
		name, why, ok := strings.Cut(s, "=")
		if !ok {
			return Usagef("--not-run %q: must be NAME=WHY", s)
		}
		not[i] = report.Unavailable{Name: name, Why: why}
	}
	return writeFile(index, func(w io.Writer) error { return report.Index(w, entries, not) })
}

// reportBeside is the reference from an index to the HTML report beside a result;
// empty if there is none.
func reportBeside(index, path string) string {
	html := strings.TrimSuffix(path, filepath.Ext(path)) + ".html"
	if _, err := os.Stat(html); err != nil {
		return ""
	}
	rel, err := filepath.Rel(filepath.Dir(index), html)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(rel)
}
