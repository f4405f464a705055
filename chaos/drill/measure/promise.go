package measure

import (
	"fmt"
	"math"
	"math/big"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/load"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/judge"
	"github.com/a1009580/leasehold/policy"
)

// DriftPPM is what clocks may be wrong by in a drill: the default of coordinators.
const DriftPPM = 1000

// Judged is a promise that a drill holds the system to.
type Judged struct {
	Quota *policy.Quota
	Key   string
	// From and To bound the requests that count: To 0 is without end. A request
	// counts if it was sent at From or later and answered by To.
	From, To time.Duration
}

// admissions are the requests that count.
func (r *Record) admissions(j *Judged) []judge.Admission {
	var all []judge.Admission
	for _, q := range r.Requests {
		if q.Outcome == load.Admitted && q.Sent >= j.From && (j.To == 0 || q.Received <= j.To) {
			all = append(all, judge.Admission{Sent: q.Sent, Received: q.Received, Cost: r.Cost})
		}
	}
	return all
}

func (j *Judged) promise() judge.TokenBucket {
	l := j.Quota.Limit
	return judge.TokenBucket{Tokens: l.Tokens, Per: l.Per, Burst: l.Burst, DriftPPM: DriftPPM}
}

// Overshoot judges a promise over every interval. The bound is computed here, from
// the scenario's policy and from how long regions were seen to be cut off, and
// shares no code with the one that the system computes.
func (r *Record) Overshoot(j Judged) result.Overshoot {
	l := j.Quota.Limit
	found := j.promise().Overshoot(r.admissions(&j))
	o := result.Overshoot{
		Quota: j.Quota.ID, Key: j.Key, Mode: j.Quota.Partition.Mode.String(), Limit: l.String(),
		Observed: max(0, found.Over), Closest: found.Over,
		Worst: result.Interval{
			FromSeconds: found.From.Seconds(), ToSeconds: found.To.Seconds(),
			Admitted: found.Admitted, Promised: found.Admitted - found.Over,
		},
		Promise: "admitted(T) <= B + (1+ρ)·r·T",
		Inputs: []result.Input{
			{Symbol: "B", Value: fmt.Sprintf("%d tokens", l.Burst), Meaning: "burst of the quota"},
			{Symbol: "r", Value: fmt.Sprintf("%d tokens per %v", l.Tokens, l.Per), Meaning: "rate of the quota"},
			{Symbol: "ρ", Value: fmt.Sprintf("%g", float64(DriftPPM)/1e6), Meaning: "drift that clocks may have"},
		},
	}
	bounded := r.bound(j.Quota, &o)
	if bounded {
		margin := *o.Bound - o.Closest
		o.Margin = &margin
	}
	return o
}

// bound fills in the bound with its formula, and says whether there is one.
func (r *Record) bound(q *policy.Quota, o *result.Overshoot) bool {
	zero := int64(0)
	switch q.Partition.Mode {
	case policy.FailClosed, policy.LocalFloor:
		o.Bound, o.Formula = &zero, "0: in this mode a cut adds nothing to the promise"
		return true
	case policy.LocalFallback, policy.FailOpen:
	}
	p := &q.Partition
	if p.Unbounded {
		o.Formula = "none: the policy says unbounded"
		return false
	}
	cuts := r.cuts()
	sum := new(big.Int)
	o.Formula = "Σ over the cuts of b + (1+ρ)·f·min(D, for), each rounded up"
	o.Inputs = append(o.Inputs,
		result.Input{Symbol: "b", Value: fmt.Sprintf("%d tokens", p.Burst), Meaning: "burst of a cut-off region"},
		result.Input{Symbol: "f", Value: fmt.Sprintf("%d tokens per %v", p.Rate.Tokens, p.Rate.Per), Meaning: "rate of a cut-off region"})
	if p.For > 0 {
		o.Inputs = append(o.Inputs, result.Input{Symbol: "for", Value: p.For.String(), Meaning: "the longest time that a region spends it"})
	}
	for i, c := range cuts {
		d := c.to - c.from
		if p.For > 0 {
			d = min(d, p.For)
		}
		sum.Add(sum, unreserved(p.Burst, p.Rate.Tokens, p.Rate.Per, d))
		o.Inputs = append(o.Inputs, result.Input{
			Symbol: fmt.Sprintf("D%d", i+1), Value: (c.to - c.from).Round(time.Millisecond).String(),
			Meaning: fmt.Sprintf("how long %s was cut off at the most, from %.1f s on", r.Regions[c.region], c.from.Seconds()),
		})
	}
	n := int64(math.MaxInt64)
	if sum.IsInt64() {
		n = sum.Int64()
	}
	o.Bound = &n
	return true
}

// unreserved is b + (1+ρ)·f·d, rounded up.
func unreserved(burst, tokens int64, per, d time.Duration) *big.Int {
	n := new(big.Int).Mul(big.NewInt(tokens), big.NewInt(1e6+DriftPPM))
	n.Mul(n, big.NewInt(int64(d)))
	by := new(big.Int).Mul(big.NewInt(int64(per)), big.NewInt(1e6))
	n.Add(n, by).Sub(n, big.NewInt(1)).Quo(n, by)
	return n.Add(n, big.NewInt(burst))
}

// cutOff is a time in which a region had no session, or a link that it took for
// cut off: it does so after 3 s of silence, and gives up the session after 3.5 s.
type cutOff struct {
	region   int
	from, to time.Duration
}

// cuts are these times as they can have been at the most: from when the fault
// began that was the reason, or else from when the last sample before was asked
// for, to when the first sample after came. A region notices a cut later than it
// begins, so that this is longer than what it counts itself.
func (r *Record) cuts() []cutOff {
	var all []cutOff
	for i, samples := range r.OfRegions {
		var connected time.Duration // when it was last known to be
		var open *cutOff
		for j := range samples {
			s := &samples[j]
			off := !s.Connected || s.Link == "cut_off"
			if open == nil && (off || j > 0 && s.healsAfter(&samples[j-1])) {
				all = append(all, cutOff{region: i, from: connected, to: r.End()})
				open = &all[len(all)-1]
				open.from = r.reason(all[:len(all)-1], *open)
			}
			if off {
				continue
			}
			if open != nil {
				open.to, open = s.At, nil
			}
			connected = s.Asked
		}
	}
	return all
}

// healsAfter says that the link was cut off since the sample before, or in it,
// and heals by now. It heals for 5 s, so that no cut is too short to be seen.
func (s *RegionSample) healsAfter(before *RegionSample) bool {
	return s.Link == "healing" && s.Transitions != before.Transitions
}

// reason is when the fault began that a cut can be laid to, but not before the
// region's last cut ended.
func (r *Record) reason(before []cutOff, c cutOff) time.Duration {
	from := c.from
	for _, f := range r.Faults {
		if f.From < from && (f.To == 0 || f.To >= c.from) {
			from = f.From
		}
	}
	for _, b := range before {
		if b.region == c.region {
			from = max(from, b.to)
		}
	}
	return from
}
