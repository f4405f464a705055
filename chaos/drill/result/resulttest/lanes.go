package resulttest

import (
	"time"

	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/judge"
)

// demand is what the clients of each region ask for, in tokens a second.
var demand = []int64{400, 320, 240}

// shares are what each region admits a second while all is well.
var shares = []int64{208, 167, 125}

// timeline makes up the lanes. What is admitted stays below the promise by itself,
// but for overspend.
func (s story) timeline() result.Timeline {
	t := result.Timeline{StepSeconds: stepTime.Seconds(), Steps: s.steps}
	for i, region := range regions {
		l := result.RegionLine{Region: region}
		var carry int64
		for step := range s.steps {
			carry += s.admits(i, step)
			admitted := carry / 10
			carry %= 10
			// Clients ask a little more and less than their mean, and are in step with
			// nothing.
			asked := max(admitted, demand[i]/10+int64((step*(7+i))%5)-2)
			leased, stranded := s.holds(i, step)
			l.Admitted = append(l.Admitted, admitted)
			l.Denied = append(l.Denied, asked-admitted)
			l.Failed = append(l.Failed, 0)
			l.Leased = append(l.Leased, leased)
			l.Stranded = append(l.Stranded, stranded)
		}
		t.Regions = append(t.Regions, l)
	}
	return t
}

// admits is what a region admits in a step, in tokens a second.
func (s story) admits(region, step int) int64 {
	cut := step >= cutFrom && step < cutTo && !s.noCut
	switch {
	case step == 0: // the bucket began full
		return shares[region] * 9
	case !cut:
		return shares[region]
	case region != 1: // the others share what eu has no lease for
		if step < cutFrom+14 {
			return shares[region]
		}
		return shares[region] + 58
	case step < cutFrom+6: // what was leased
		return shares[region]
	case step < cutFrom+14: // the lease is used up or has run out
		return 50 + s.fallback
	default: // the floor
		return 50 + s.fallback + s.overspend
	}
}

// holds is what a region holds at the end of a step, and what of it is stranded.
func (s story) holds(region, step int) (leased, stranded *int64) {
	n := shares[region] / 2
	zero := int64(0)
	if region != 1 || s.noCut || step < cutFrom || step >= cutTo+3 {
		return &n, &zero
	}
	switch since := int64(step - cutFrom); {
	case since < 6:
		left := max(0, n-since*17)
		return &left, &left
	case step >= cutTo-2 && step < cutTo: // nobody answered
		return nil, nil
	}
	return &zero, &zero
}

// raw makes one admission for each token, evenly within its step.
func raw(t *result.Timeline) result.Raw {
	a := result.Admissions{Regions: regions}
	for step := range t.Steps {
		for i := range t.Regions {
			n := t.Regions[i].Admitted[step]
			for k := range n {
				sent := time.Duration(step)*stepTime + stepTime*time.Duration(k)/time.Duration(n)
				a.Sent = append(a.Sent, int64(sent))
				a.Received = append(a.Received, int64(sent+350*time.Microsecond))
				a.Cost = append(a.Cost, 1)
				a.Region = append(a.Region, i)
				a.Bucket = append(a.Bucket, 0)
			}
		}
	}
	return result.Raw{Admissions: a, Logs: []result.Log{
		{Node: "eu-1", Lines: []string{
			"level=INFO msg=leasing region=eu node=eu-1 session=1 epoch=1.5 policy=1",
			`level=WARN msg="lost the coordinator" error="no answer for 875ms"`,
			"level=INFO msg=leasing region=eu node=eu-1 session=2 epoch=1.5 policy=1",
		}},
		{Node: "coordinator-1", Lines: []string{"level=INFO msg=leading epoch=1.5 policy=1"}},
	}}
}

// overshoot has the judge find the interval in which most was admitted.
func (s story) overshoot(a result.Admissions) result.Overshoot {
	all := make([]judge.Admission, len(a.Sent))
	for i := range all {
		all[i] = judge.Admission{Sent: time.Duration(a.Sent[i]), Received: time.Duration(a.Received[i]), Cost: a.Cost[i]}
	}
	f := judge.TokenBucket{Tokens: limit, Per: time.Second, Burst: limit, DriftPPM: 1000}.Overshoot(all)
	bound := int64(0)
	o := result.Overshoot{
		Quota: "api/partner-key", Key: "hot", Mode: "local_floor", Limit: "500 per 1s, burst 500",
		Observed: max(0, f.Over), Closest: f.Over,
		Worst: result.Interval{
			FromSeconds: f.From.Seconds(), ToSeconds: f.To.Seconds(), Admitted: f.Admitted, Promised: f.Admitted - f.Over,
		},
		Promise: "admitted(T) <= B + (1+ρ)·r·T", Formula: "0: floors are taken out of r and B",
		Inputs: []result.Input{
			{Symbol: "r", Value: "500 tokens/s", Meaning: "rate of the quota"},
			{Symbol: "B", Value: "500 tokens", Meaning: "burst of the quota"},
			{Symbol: "ρ", Value: "0.001", Meaning: "drift that clocks are allowed"},
		},
	}
	if s.fallback > 0 {
		bound = 700
		o.Mode, o.Formula = "local_fallback", "Σ over cuts of b + (1+ρ)·f·min(T, D, for)"
		o.Inputs = append(o.Inputs,
			result.Input{Symbol: "f", Value: "100 tokens/s", Meaning: "rate of the fallback"},
			result.Input{Symbol: "b", Value: "100 tokens", Meaning: "burst of the fallback"},
			result.Input{Symbol: "D", Value: "6 s", Meaning: "length of the cut"})
	}
	margin, system := bound-f.Over, bound
	o.Bound, o.SystemBound, o.Margin = &bound, &system, &margin
	return o
}
