package limiter

import (
	"fmt"
	"math"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
)

// metrics collects what the limiter counts. It keeps no figures of its own but
// those of the messages: the rest is read when somebody asks, so that decisions
// pay for nothing. No label is a key of a bucket.
type metrics struct {
	l          *Limiter
	registerer prometheus.Registerer
	grants     atomic.Int64
	recalls    atomic.Int64
}

var (
	checksDesc    = prometheus.NewDesc("leasehold_checks_total", "Decisions by quota.", []string{"quota", "decision"}, nil)
	deniedDesc    = prometheus.NewDesc("leasehold_denied_total", "Denials by quota and reason.", []string{"quota", "reason"}, nil)
	overflowDesc  = prometheus.NewDesc("leasehold_overflow_total", "Decisions of keys beyond a quota's max_keys, which share one bucket.", []string{"quota"}, nil)
	advisedDesc   = prometheus.NewDesc("leasehold_advised_total", "Decisions of rules that had too little and only watch.", []string{"quota"}, nil)
	falselyDesc   = prometheus.NewDesc("leasehold_false_denials_total", "Denials for which the coordinator had the tokens, as it last told.", []string{"quota"}, nil)
	refundedDesc  = prometheus.NewDesc("leasehold_refunded_tokens_total", "Tokens of admissions that were taken back.", []string{"quota"}, nil)
	noQuotaDesc   = prometheus.NewDesc("leasehold_no_quota_total", "Decisions of requests that no quota matches.", []string{"domain", "decision"}, nil)
	unknownDesc   = prometheus.NewDesc("leasehold_unknown_domain_total", "Requests of a domain that the policy does not have.", nil, nil)
	reachableDesc = prometheus.NewDesc("leasehold_coordinator_reachable", "1 while a session with a coordinator is open, else 0.", nil, nil)
	revisionDesc  = prometheus.NewDesc("leasehold_policy_revision", "Revision of the policy in force; 0 if none is known.", nil, nil)
	roundTripDesc = prometheus.NewDesc("leasehold_lease_round_trip_seconds", "Average time from a report to its answer.", nil, nil)
	grantsDesc    = prometheus.NewDesc("leasehold_lease_grants_total", "Grants that were received.", nil, nil)
	recallsDesc   = prometheus.NewDesc("leasehold_lease_recalls_total", "Recalls that were received.", nil, nil)
	creditedDesc  = prometheus.NewDesc("leasehold_lease_credited_tokens_total", "Tokens that were granted here.", []string{"quota"}, nil)
	returnedDesc  = prometheus.NewDesc("leasehold_lease_returned_tokens_total", "Tokens that were given back.", []string{"quota"}, nil)
	unspentDesc   = prometheus.NewDesc("leasehold_lease_unspent_tokens", "Tokens that are leased and not yet spent.", []string{"quota"}, nil)
	floorDesc     = prometheus.NewDesc("leasehold_floor_owned", "1 while this process owns a part of its region's floor.", []string{"quota"}, nil)
	linkDesc      = prometheus.NewDesc("leasehold_link_state", "1 for the state that the link to the coordinators is in.", []string{"state"}, nil)
	changesDesc   = prometheus.NewDesc("leasehold_link_transitions_total", "Changes of that state.", nil, nil)
	cutsDesc      = prometheus.NewDesc("leasehold_cuts_total", "Times that this process was cut off.", nil, nil)
	cutDesc       = prometheus.NewDesc("leasehold_cut_off_seconds", "How long the cut that goes on has lasted; 0 if none does.", nil, nil)
	floorsDesc    = prometheus.NewDesc("leasehold_floor_spent_tokens_total", "Tokens that were spent from this process's floors.", []string{"quota"}, nil)
	overspentDesc = prometheus.NewDesc("leasehold_overspent_tokens_total", "Tokens that were spent unreserved, beyond lease and floor, while cut off.", []string{"quota"}, nil)
	boundDesc     = prometheus.NewDesc("leasehold_overshoot_bound_tokens", "The most by which this process can have exceeded a limit since it started, by its own cuts; +Inf without a bound.", []string{"quota"}, nil)
	observedDesc  = prometheus.NewDesc("leasehold_overshoot_observed_tokens", "The most that it is known to have exceeded a limit by; one process does not know, and says 0.", []string{"quota"}, nil)
	highDesc      = prometheus.NewDesc("leasehold_overshoot_observed_high_tokens", "At least the most that this process spent unreserved of one bucket, of a window quota in one window; at most the bound.", []string{"quota"}, nil)
	bucketsDesc   = prometheus.NewDesc("leasehold_live_buckets", "Buckets in memory.", []string{"quota"}, nil)
)

// newMetrics registers the metrics, if there is a place for them.
func newMetrics(l *Limiter, r prometheus.Registerer) (*metrics, error) {
	m := &metrics{l: l, registerer: r}
	if r == nil {
		return m, nil
	}
	if err := r.Register(m); err != nil {
		return nil, fmt.Errorf("%w: Registerer: %w", ErrOptions, err)
	}
	return m, nil
}

func (m *metrics) unregister() {
	if m.registerer != nil {
		m.registerer.Unregister(m)
	}
}

// heard counts what a batch brought.
func (m *metrics) heard(b *lease.GrantBatch) {
	m.grants.Add(int64(len(b.Grants)))
	m.recalls.Add(int64(len(b.Recalls)))
}

// Describe implements prometheus.Collector.
func (*metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		checksDesc, deniedDesc, overflowDesc, advisedDesc, falselyDesc, refundedDesc, noQuotaDesc, unknownDesc, reachableDesc, revisionDesc, roundTripDesc,
		grantsDesc, recallsDesc, creditedDesc, returnedDesc, unspentDesc, floorDesc, bucketsDesc,
		linkDesc, changesDesc, cutsDesc, cutDesc, floorsDesc, overspentDesc, boundDesc, observedDesc, highDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	s := m.l.Status()
	cuts := m.l.Cuts()
	for i := range s.Quotas {
		q := &s.Quotas[i]
		counter(checksDesc, q.Allowed, q.Quota, "allowed")
		counter(checksDesc, q.Denied(), q.Quota, "denied")
		counter(deniedDesc, q.Exhausted, q.Quota, Exhausted.String())
		counter(deniedDesc, q.NoLease, q.Quota, NoLease.String())
		counter(deniedDesc, q.CutOff, q.Quota, CutOff.String())
		counter(deniedDesc, q.Impossible, q.Quota, Impossible.String())
		if q.Unbounded {
			continue
		}
		counter(overflowDesc, q.Overflow, q.Quota)
		counter(advisedDesc, q.Advised, q.Quota)
		counter(falselyDesc, q.FalselyDenied, q.Quota)
		counter(refundedDesc, q.Refunded, q.Quota)
		counter(creditedDesc, q.Credited, q.Quota)
		counter(returnedDesc, q.Returned, q.Quota)
		gauge(unspentDesc, float64(q.Unspent), q.Quota)
		gauge(floorDesc, number(q.FloorOwned), q.Quota)
		gauge(bucketsDesc, float64(q.Buckets), q.Quota)
		counter(floorsDesc, q.FloorSpent, q.Quota)
		counter(overspentDesc, q.Overspent, q.Quota)
		bound := cuts.Bound(q.Quota)
		gauge(boundDesc, tokens(&bound), q.Quota)
		gauge(observedDesc, 0, q.Quota)
		gauge(highDesc, float64(q.WorstOver), q.Quota)
	}
	for _, d := range s.Domains {
		counter(noQuotaDesc, d.NoQuota, d.Domain, "allowed")
		counter(noQuotaDesc, d.Unmatched, d.Domain, "denied")
	}
	counter(unknownDesc, s.UnknownDomain)
	counter(grantsDesc, m.grants.Load())
	counter(recallsDesc, m.recalls.Load())
	gauge(reachableDesc, number(s.Connected))
	gauge(revisionDesc, float64(s.PolicyRevision))
	gauge(roundTripDesc, s.RoundTrip.Seconds())
	for _, state := range linkStates {
		gauge(linkDesc, number(s.Link.State == state.String()), state.String())
	}
	counter(changesDesc, int64(s.Link.Transitions))
	counter(cutsDesc, int64(s.Link.Cut))
	lasts := 0.0
	if s.Link.CutOpen {
		lasts = s.Link.CutFor.Seconds()
	}
	gauge(cutDesc, lasts)
}

var linkStates = []partition.State{partition.NeverConnected, partition.Connected, partition.Suspect, partition.CutOff, partition.Healing}

// tokens is a bound as a metric has it.
func tokens(r *partition.Result) float64 {
	if r.Unbounded {
		return math.Inf(1)
	}
	return float64(r.Tokens)
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
