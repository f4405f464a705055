package limiter

import (
	"math"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// tellParts tells what became of each part, gives back what is refunded, and
// counts.
func (l *Limiter) tellParts(s *joint, parts []Part, v *lease.Verdict, allowed bool, into []PartDecision) []PartDecision {
	l.countParts(s, allowed)
	roundTrip := time.Duration(l.roundTrip.Load())
	for i := range parts {
		p, j := &parts[i], &s.each[i]
		d := PartDecision{Rule: j.rule, Reason: j.reason}
		switch {
		case j.replaced:
			d.Rule, d.Reason = nil, NoQuota
		case p.Refund:
			l.tellRefund(s, j, v, roundTrip, &d, allowed)
			if allowed {
				d.Refunded = giveBack(p, s.links[j.first:j.last])
			}
		case d.Reason != 0:
			s.countDenied(j, &d)
		case j.first == j.last:
			d.Reason = s.free(j, allowed)
		default:
			l.tellPart(s, j, v, roundTrip, &d)
		}
		into = append(into, d)
	}
	return into
}

// free is the reason of a part that no bucket decides.
func (s *joint) free(j *joined, allowed bool) Reason {
	switch {
	case j.first < j.last:
		return WithinQuota
	case j.unbounded != nil:
		if allowed {
			j.unbounded.tally.add(countAllowed)
		}
		return Unbounded
	default:
		if allowed {
			s.rules.noQuota[s.domain.Name].add(countAllowed)
		}
		return NoQuota
	}
}

// countDenied counts a part that was denied before its buckets were asked.
func (s *joint) countDenied(j *joined, d *PartDecision) {
	switch {
	case d.Reason == Unmatched:
		s.rules.noQuota[s.domain.Name].add(countExhausted)
	case j.rule != nil && j.rule.Quota != nil:
		s.rules.quotas[j.rule.Quota].tally.add(countImpossible)
	}
}

// countParts counts the decisions of the buckets' quotas.
func (l *Limiter) countParts(s *joint, allowed bool) {
	for i := range s.parts {
		p, q := &s.parts[i], s.quotas[i]
		switch {
		case p.Outcome == lease.Admitted && allowed:
			q.tally.add(countAllowed)
		case p.Outcome == lease.Admitted:
		case p.Advisory:
			q.tally.add(countAdvised)
		case !s.denied:
			q.tally.add(countOf(l.reason(p.Outcome)))
		}
	}
}

// tellPart tells of the bucket that decided about a part: of those that have too
// little one that never will have enough, else the one that takes longest; if all
// have enough, the one that has the least.
func (l *Limiter) tellPart(s *joint, j *joined, v *lease.Verdict, roundTrip time.Duration, d *PartDecision) {
	d.Remaining = math.MaxInt64
	d.Reason = WithinQuota
	if v.Unreserved {
		d.Reason = Unreserved
	}
	for _, k := range s.links[j.first:j.last] {
		p := &s.parts[k.at]
		enough := p.Outcome == lease.Admitted
		if enough && !d.Reason.Allows() {
			continue
		}
		o := l.outlook(p.Cell, k.quota.Quota, v.At, p.Cost, enough, roundTrip)
		n := PartDecision{
			Rule: d.Rule, Quota: k.quota.Quota, Reason: d.Reason, Limit: o.Limit / k.scale, Remaining: o.Remaining / k.scale,
			Most: o.Most / k.scale, Reset: o.Reset,
		}
		if !enough {
			if n.Reason = l.reason(p.Outcome); n.Reason != Impossible {
				n.RetryAfter = l.wait(&o, roundTrip)
			}
			n.Reset = max(n.Reset, n.RetryAfter)
		}
		if n.decides(d) {
			*d = n
		}
	}
}

// tellRefund tells how the buckets of a refund stand, which deny nothing: before
// anything is given back, since the coordinator alone knows what there is room for.
func (l *Limiter) tellRefund(s *joint, j *joined, v *lease.Verdict, roundTrip time.Duration, d *PartDecision, allowed bool) {
	d.Reason = s.free(j, allowed)
	for _, k := range s.links[j.first:j.last] {
		if k.back == nil {
			continue
		}
		o := l.outlook(k.back, k.quota.Quota, v.At, 0, true, roundTrip)
		if !o.Known {
			continue
		}
		n := PartDecision{
			Rule: d.Rule, Quota: k.quota.Quota, Reason: d.Reason, Limit: o.Limit / k.scale, Remaining: o.Remaining / k.scale,
			Most: o.Most / k.scale, Reset: o.Reset,
		}
		if n.decides(d) {
			*d = n
		}
	}
}

// decides says that what is told of one bucket goes before that of another.
func (d *PartDecision) decides(o *PartDecision) bool {
	switch {
	case o.Quota == nil:
		return true
	case d.Reason.Allows() != o.Reason.Allows():
		return !d.Reason.Allows()
	case d.Reason.Allows():
		return d.Remaining < o.Remaining
	case (d.Reason == Impossible) != (o.Reason == Impossible):
		return d.Reason == Impossible
	default:
		return d.RetryAfter > o.RetryAfter
	}
}

// giveBack refunds a part to its buckets, and returns how many hits each of them
// took back at least.
func giveBack(p *Part, links []link) int64 {
	hits, known := int64(math.MaxInt64), false
	for _, k := range links {
		if k.back == nil {
			continue
		}
		n := k.back.Refund(satMul(p.N, k.scale))
		k.quota.tally.addN(countRefunded, n)
		hits, known = min(hits, n/k.scale), true
	}
	if !known {
		return 0
	}
	return hits
}
