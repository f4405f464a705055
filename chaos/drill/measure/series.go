package measure

import (
	"cmp"
	"slices"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/load"
	"github.com/a1009580/leasehold/chaos/drill/result"
)

// Step is how fine a timeline is, and how often processes are asked.
const Step = 100 * time.Millisecond

// stale is how old a sample may be that stands for a step.
const stale = 5 * Step

// Timeline counts in steps, up to the end of the last phase.
func (r *Record) Timeline() result.Timeline {
	steps := int((r.End() + Step - 1) / Step)
	t := result.Timeline{StepSeconds: Step.Seconds(), Steps: steps, Regions: []result.RegionLine{}}
	for i, name := range r.Regions {
		l := result.RegionLine{
			Region: name, Admitted: make([]int64, steps), Denied: make([]int64, steps), Failed: make([]int64, steps),
			Leased: make([]*int64, steps), Stranded: make([]*int64, steps),
		}
		for _, q := range r.Requests {
			at := int(q.Received / Step)
			if q.Region != i || at >= steps {
				continue
			}
			switch q.Outcome {
			case load.Admitted:
				l.Admitted[at] += r.Cost
			case load.Denied:
				l.Denied[at] += r.Cost
			case load.Failed:
				l.Failed[at] += r.Cost
			}
		}
		r.leases(i, &l)
		t.Regions = append(t.Regions, l)
	}
	return t
}

// leases fills in what a region holds, and what of it is stranded. A region that
// has no session holds stranded tokens; those of one that does not answer are known
// by the leader alone, who tells the sum of all that are gone.
func (r *Record) leases(region int, l *result.RegionLine) {
	for step := range l.Leased {
		end := time.Duration(step+1) * Step
		if s, ok := r.regionAt(region, end); ok {
			leased, stranded := s.Leased, int64(0)
			if !s.Connected {
				stranded = s.Leased
			}
			l.Leased[step], l.Stranded[step] = &leased, &stranded
			continue
		}
		if s, ok := r.leaderAt(end); ok {
			stranded := s.Stranded
			for other := range r.Regions {
				if o, ok := r.regionAt(other, end); ok && !o.Connected {
					stranded -= o.Leased
				}
			}
			stranded = max(0, stranded)
			l.Stranded[step] = &stranded
		}
	}
}

// regionAt is the newest sample of a region at a time, if it is not stale.
func (r *Record) regionAt(region int, at time.Duration) (RegionSample, bool) {
	if region >= len(r.OfRegions) {
		return RegionSample{}, false
	}
	all := r.OfRegions[region]
	n, _ := slices.BinarySearchFunc(all, at, func(s RegionSample, t time.Duration) int { return cmp.Compare(s.At, t) })
	if n == 0 || all[n-1].At < at-stale {
		return RegionSample{}, false
	}
	return all[n-1], true
}

// leaderAt is the newest sample of a coordinator that grants at a time, if it is
// not stale.
func (r *Record) leaderAt(at time.Duration) (CoordinatorSample, bool) {
	n, _ := slices.BinarySearchFunc(r.OfCoordinators, at, func(s CoordinatorSample, t time.Duration) int { return cmp.Compare(s.At, t) })
	for ; n > 0 && r.OfCoordinators[n-1].At >= at-stale; n-- {
		if s := r.OfCoordinators[n-1]; s.Granting {
			return s, true
		}
	}
	return CoordinatorSample{}, false
}

// Latencies are of all requests that were decided, by the phase in which they
// were sent: of all regions together, and of each.
func (r *Record) Latencies() []result.Latency {
	all := []result.Latency{}
	for _, p := range r.Phases {
		for region := -1; region < len(r.Regions); region++ {
			l := result.Latency{Phase: string(p.Kind)}
			if region >= 0 {
				l.Region = r.Regions[region]
			}
			var took []time.Duration
			for _, q := range r.Requests {
				if q.Outcome != load.Failed && p.From <= q.Sent && q.Sent < p.To && (region < 0 || q.Region == region) {
					took = append(took, q.Received-q.Sent)
				}
			}
			slices.Sort(took)
			l.Requests = int64(len(took))
			l.P50, l.P99, l.P999, l.Max = quantile(took, 500), quantile(took, 990), quantile(took, 999), quantile(took, 1000)
			all = append(all, l)
		}
	}
	return all
}

// quantile is the least of the sorted times that so many of a thousand do not
// exceed, in seconds.
func quantile(sorted []time.Duration, perMille int) float64 {
	if len(sorted) == 0 {
		return 0
	}
	n := (len(sorted)*perMille + 999) / 1000
	return sorted[max(n, 1)-1].Seconds()
}

// Blast is what the users of each region noticed, by the phase in which they
// asked.
func (r *Record) Blast() []result.Impact {
	all := []result.Impact{}
	base := make([]float64, len(r.Regions))
	for _, p := range r.Phases {
		for i, name := range r.Regions {
			m := result.Impact{Phase: string(p.Kind), Region: name}
			for _, q := range r.Requests {
				if q.Region != i || q.Sent < p.From || q.Sent >= p.To {
					continue
				}
				m.Requests++
				switch q.Outcome {
				case load.Admitted:
					m.Admitted++
				case load.Denied:
					m.Denied++
				case load.Failed:
					m.Failed++
				}
			}
			if d := (p.To - p.From).Seconds(); d > 0 {
				m.AdmittedPerSecond = float64(m.Admitted*r.Cost) / d
			}
			if p.Kind == result.Baseline {
				base[i] = m.AdmittedPerSecond
			}
			if base[i] > 0 {
				share := m.AdmittedPerSecond / base[i]
				m.OfBaseline = &share
			}
			all = append(all, m)
		}
	}
	return all
}
