package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/a1009580/leasehold/internal/overshoot"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
)

// supposedFor is how long regions are taken to be cut off when only a policy is there to be asked.
const supposedFor = 10 * time.Minute

// overshootFlags are the options of the command.
type overshootFlags struct {
	target target
	policy string
	cut    []string
	length time.Duration
	json   bool
}

// NewOvershoot returns the command that tells by how much limits can be, and were, exceeded.
func NewOvershoot() *cobra.Command {
	o := &overshootFlags{}
	cmd := &cobra.Command{
		Use:   "overshoot [QUOTA]",
		Short: "Tell by how much limits can be, and were, exceeded",
		Long: `Overshoot asks the coordinator that leads for bound, observed and margin of every
quota: by how much the limit can have been exceeded through the cuts that took place,
by how much it was as far as reports tell, and what is left between. With a QUOTA,
domain/name, it shows what the bound is the sum of, line by line.

With --for it also tells what any 1, 2 and so on up to all regions would add if they
were cut off for so long, and with --cut what those regions would.

A region tells of itself alone, also while it is cut off (--region). With --policy
nobody is asked: the bound is computed from the file, with the nodes that it lists,
for 10m unless --for says otherwise.

The exit code is 0 when nothing was exceeded beyond its bound, and 3 when something
was. It is 1 when nobody can be reached, 4 when none of the coordinators that were
asked leads, so that nothing is known of what was observed, and 2 when the question
is wrong.`,
		Example: `  leasehold overshoot
  leasehold overshoot api/browse --cut eu,ap --for 10m
  leasehold overshoot --region 10.0.3.4:7501
  leasehold overshoot --policy policy.yaml --for 1h`,
		Args: func(cmd *cobra.Command, args []string) error {
			return WithCode(Usage, cobra.MaximumNArgs(1)(cmd, args))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			quota := ""
			if len(args) == 1 {
				quota = args[0]
			}
			return o.run(cmd, quota)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.cut, "cut", nil, "`regions` that are supposed to be cut off, for as long as --for says")
	f.DurationVar(&o.length, "for", 0, "`time` for which regions are supposed to be cut off")
	o.target.register(f)
	f.StringVar(&o.policy, "policy", "", "policy `file` to compute the bound from, without asking anybody; - is standard input")
	f.BoolVar(&o.json, "json", false, "print the report as one JSON object")
	ownVariable(f, "policy")
	return cmd
}

func (o *overshootFlags) run(cmd *cobra.Command, quota string) error {
	if err := oneOf(cmd, "coordinator", "region", "policy"); err != nil {
		return err
	}
	values := url.Values{}
	if cmd.Flags().Changed("for") {
		values.Set("for", o.length.String())
	} else if o.policy != "" {
		values.Set("for", supposedFor.String())
	}
	if cmd.Flags().Changed("cut") {
		values.Set("cut", strings.Join(o.cut, ","))
	}
	query, err := overshoot.ParseQuery(values)
	if err != nil {
		return flagsOf(err)
	}
	a, err := o.report(cmd, &query, values)
	if err != nil {
		return err
	}
	if quota != "" {
		if err := only(&a.body, quota); err != nil {
			return err
		}
	}
	if err := o.print(cmd, a, quota != ""); err != nil {
		return err
	}
	return verdict(a)
}

// flagsOf turns an error about a parameter into one about the flag of the same name.
func flagsOf(err error) error {
	text := strings.TrimPrefix(err.Error(), overshoot.ErrQuery.Error()+": ")
	return Usagef("--%s", text)
}

// report asks for the report, or computes it from a policy.
func (o *overshootFlags) report(cmd *cobra.Command, query *overshoot.Query, values url.Values) (*answer[overshoot.Report], error) {
	if o.policy != "" {
		return o.offline(cmd, query)
	}
	if err := o.target.check(); err != nil {
		return nil, err
	}
	return ask(cmd.Context(), &o.target, "/v1/overshoot", values, func(r *overshoot.Report) bool { return r.Leads })
}

// offline computes what can be said of a policy alone: nothing was cut yet, and nobody observes.
func (o *overshootFlags) offline(cmd *cobra.Command, query *overshoot.Query) (*answer[overshoot.Report], error) {
	set, err := readPolicy(cmd, o.policy)
	if err != nil {
		return nil, err
	}
	places := partition.Known(set, nil)
	if err := query.Check(set, places); err != nil {
		return nil, flagsOf(err)
	}
	a := &answer[overshoot.Report]{from: o.policy}
	a.body = overshoot.Report{Source: overshoot.Policy, At: time.Now().UTC(), DriftPPM: int64(lease.DefaultDrift), Quotas: []overshoot.Quota{}}
	for _, d := range set.Domains {
		for _, q := range d.Quotas {
			bound := partition.Bound(q, lease.DefaultDrift, nil)
			one := overshoot.NewQuota(q, &bound, nil)
			query.Suppose(&one, q, lease.DefaultDrift, places)
			a.body.Quotas = append(a.body.Quotas, one)
		}
	}
	return a, nil
}

// only leaves one quota in a report. It may be named without its domain if no other has that name.
func only(r *overshoot.Report, name string) error {
	var found []overshoot.Quota
	for i := range r.Quotas {
		id := r.Quotas[i].Quota
		_, short, _ := strings.Cut(id, "/")
		if id == name {
			r.Quotas = r.Quotas[i : i+1]
			return nil
		}
		if short == name {
			found = append(found, r.Quotas[i])
		}
	}
	switch len(found) {
	case 0:
		return refusedf("there is no quota %q; a quota is named domain/name", name)
	case 1:
		r.Quotas = found
		return nil
	}
	ids := make([]string, len(found))
	for i := range found {
		ids[i] = found[i].Quota
	}
	return refusedf("%q is the name of several quotas: %s", name, strings.Join(ids, ", "))
}

// print prints a report, and on standard error what there is to say of who was asked.
func (o *overshootFlags) print(cmd *cobra.Command, a *answer[overshoot.Report], detail bool) error {
	tellVain(cmd, a.vain)
	w := cmd.OutOrStdout()
	if o.json {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(&a.body)
	}
	var t reportText
	t.head(a)
	if detail {
		t.quota(&a.body, &a.body.Quotas[0])
	} else {
		t.table(&a.body)
		t.supposed(&a.body)
	}
	_, err := w.Write(t.Bytes())
	return err
}

// tellVain says on standard error who was asked in vain, though somebody else answered.
func tellVain(cmd *cobra.Command, vain error) {
	if vain != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: asked in vain: %v\n", cmd.CommandPath(), strings.ReplaceAll(vain.Error(), "\n", "; "))
	}
}

// verdict is how the command ends. That a limit was exceeded by more than its bound goes before what is not known.
func verdict(a *answer[overshoot.Report]) error {
	unknown := a.follows
	for i := range a.body.Quotas {
		q := &a.body.Quotas[i]
		if q.Margin != nil && *q.Margin < 0 {
			return WithCode(CheckFailed, fmt.Errorf("%s was exceeded by %s tokens, more than its bound of %d",
				q.Quota, spread(q.Observed), *q.Bound.Tokens))
		}
		unknown = unknown || q.Observed == nil && q.Mode != ""
	}
	switch {
	case a.body.Source == overshoot.Policy:
		return nil
	case a.follows:
		return WithCode(Inconclusive, notLeading(a.leader))
	case unknown:
		return WithCode(Inconclusive, errors.New("it does not know yet what was observed"))
	}
	return nil
}

// notLeading says that none of those that were asked leads.
func notLeading(leader string) error {
	if leader == "" {
		return errors.New("none of the coordinators that were asked leads, and they do not know who does")
	}
	return fmt.Errorf("none of the coordinators that were asked leads: ask the one that serves gRPC on %s", leader)
}
