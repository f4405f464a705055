package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/a1009580/leasehold/internal/overshoot"
)

// NewLinks returns the command that tells how the ways between regions and coordinator are.
func NewLinks() *cobra.Command {
	var to target
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "links",
		Short: "Tell how the ways between the regions and the coordinator are, and why",
		Long: `Links asks the coordinator that leads for the link to every regional process that it
heard of: its state, for how long it has been so, when it was last proved that the
process hears the coordinator, its cuts, and the reason in words.

With --region it asks one regional process for its own link, and for what it has to
live on while it is cut off: lease, floor, and whether it spends unreserved.

The states are never_connected, connected, suspect, cut_off and healing; the
coordinator also knows gone, of a process that said goodbye or was replaced.

The exit code is 0 whatever the links are like. It is 1 when nobody can be reached,
and 4 when none of the coordinators that were asked leads.`,
		Example: `  leasehold links
  leasehold links --coordinator 10.0.0.7:7401,10.0.0.8:7401
  leasehold links --region 10.0.3.4:7501 --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf(cmd, "coordinator", "region"); err != nil {
				return err
			}
			if err := to.check(); err != nil {
				return err
			}
			a, err := ask(cmd.Context(), &to, "/v1/links", nil, func(l *overshoot.Links) bool { return l.Leads })
			if err != nil {
				return err
			}
			tellVain(cmd, a.vain)
			if err := printLinks(cmd, a, asJSON); err != nil {
				return err
			}
			if a.follows {
				return WithCode(Inconclusive, notLeading(a.leader))
			}
			return nil
		},
	}
	to.register(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the links as one JSON object")
	return cmd
}

func printLinks(cmd *cobra.Command, a *answer[overshoot.Links], asJSON bool) error {
	w := cmd.OutOrStdout()
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(&a.body)
	}
	var t linksText
	t.head(a)
	t.table(a.body.Links)
	for i := range a.body.Links {
		if h := a.body.Links[i].Held; h != nil {
			t.held(h)
		}
	}
	_, err := w.Write(t.Bytes())
	return err
}

// linksText writes links for people.
type linksText struct{ bytes.Buffer }

func (t *linksText) head(a *answer[overshoot.Links]) {
	l := &a.body
	switch {
	case l.Source == overshoot.Region:
		fmt.Fprintf(t, "region %s, node %s, at %s: its own way to the coordinator%s\n", l.Region, l.Node, a.from, since(l.Since, l.At))
	case a.follows:
		fmt.Fprintf(t, "coordinator at %s does not lead, and knows no links\n", a.from)
	default:
		fmt.Fprintf(t, "coordinator at %s leads%s\n", a.from, since(l.Since, l.At))
	}
	if l.Forgotten > 0 {
		fmt.Fprintf(t, "%d more were forgotten one by one, since there were too many; their cuts still count\n", l.Forgotten)
	}
}

func (t *linksText) table(links []overshoot.Link) {
	if len(links) == 0 {
		return
	}
	fmt.Fprintln(t)
	columns(t, func(row func(...string)) {
		row("REGION", "NODE", "STATE", "FOR", "LAST PROOF", "CUTS", "LAST CUT", "REASON")
		for i := range links {
			l := &links[i]
			proof := "never"
			if l.LastProof != nil {
				proof = brief(l.LastProof.Duration()) + " ago"
			}
			row(plain(l.Region), plain(l.Node), l.State, brief(l.Since.Duration()), proof, fmt.Sprint(l.Cut.Total), cut(&l.Cut), plain(l.Reason))
		}
	})
}

// plain is a text without what a terminal would act on: a process may call itself anything.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// cut is the last cut in one cell.
func cut(c *overshoot.Cut) string {
	length := brief(c.Length.Duration())
	switch {
	case c.Open && c.Number == 0:
		return length + " so far, as seen from here"
	case c.Open:
		return fmt.Sprintf("number %d, %s so far", c.Number, length)
	case c.Number == 0:
		return "-"
	}
	return fmt.Sprintf("number %d, of %s", c.Number, length)
}

// held tells what a region has to live on.
func (t *linksText) held(h *overshoot.Held) {
	switch {
	case h.Lease > 0:
		fmt.Fprintf(t, "\n%d leased tokens are left, the last of them for %s; ", h.Lease, brief(h.LeaseEnds.Duration()))
	default:
		fmt.Fprint(t, "\nno leased tokens are left; ")
	}
	if h.Unreserved {
		fmt.Fprintln(t, "quotas whose mode allows it are spent unreserved")
	} else {
		fmt.Fprintln(t, "nothing is spent unreserved")
	}
	columns(t, func(row func(...string)) {
		row("QUOTA", "MODE", "LEASE", "ENDS IN", "FLOOR", "SPENT FROM FLOOR", "SPENT UNRESERVED")
		for i := range h.Quotas {
			q := &h.Quotas[i]
			ends, floor, of := "-", "-", q.Mode
			if q.Lease > 0 {
				ends = brief(q.LeaseEnds.Duration())
			}
			if q.FloorOwned {
				floor = "owned"
			}
			if of == "" {
				of = "-"
			}
			row(q.Quota, of, fmt.Sprint(q.Lease), ends, floor, fmt.Sprint(q.FloorSpent), fmt.Sprint(q.Overspent))
		}
	})
}
