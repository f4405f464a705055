package limiter

import (
	"fmt"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a1009580/leasehold/lease"
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
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
