package coordinator

import (
	"errors"
	"math"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a1009580/leasehold/internal/version"
	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
)

// metrics are what this coordinator counts. What it shows of its ledger comes
// from a gauges.
type metrics struct {
	granted    *prometheus.CounterVec
	floorSpent *prometheus.CounterVec
	unreserved *prometheus.CounterVec
	rebalanced *prometheus.CounterVec
	answered   *prometheus.CounterVec
	answerTime *prometheus.CounterVec

	transitions *prometheus.CounterVec
	cuts        *prometheus.CounterVec
	refused     prometheus.Counter
	overspent   prometheus.Counter
	notWritten  prometheus.Counter
	malformed   prometheus.Counter
	talks       *prometheus.CounterVec
	stepDowns   *prometheus.CounterVec
	proofs      *prometheus.CounterVec
	reloads     *prometheus.CounterVec
	calls       *prometheus.CounterVec
	callTime    *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer, s *Server) *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: "leasehold_" + name, Help: help})
	}
	vector := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "leasehold_" + name, Help: help}, labels)
	}
	m := &metrics{
		granted:    vector("lease_granted_tokens_total", "Tokens granted to holders.", "quota"),
		floorSpent: vector("floor_spent_tokens_total", "Tokens that holders reported spent from their floors.", "quota"),
		unreserved: vector("overspent_tokens_total", "Tokens that holders reported spent unreserved, beyond lease and floor, while they were cut off.", "quota"),
		rebalanced: vector("rebalanced_tokens_total", "Tokens that came back because they were recalled for others.", "quota"),
		answered:   vector("rebalance_recalls_total", "Recalls that were answered whole.", "quota"),
		answerTime: vector("rebalance_seconds_total", "How long these took, from recall to return, added up.", "quota"),
		transitions: vector("link_transitions_total", "Changes of the links to holders, by the state that was entered.",
			"region", "state"),
		cuts:       vector("cuts_total", "Cuts of which holders told.", "region"),
		refused:    counter("coordinator_refused_reports_total", "Claims and reports of buckets that could not be served."),
		overspent:  counter("coordinator_overspent_reports_total", "Reports that said more than was granted; they changed nothing."),
		notWritten: counter("store_transactions_not_written_total", "Debits that the store surely did not write; they are decided again."),
		malformed:  counter("coordinator_malformed_messages_total", "Messages of holders that broke the protocol."),
		talks:      vector("coordinator_streams_ended_total", "Streams of holders that ended, by status code.", "code"),
		stepDowns:  vector("coordinator_step_downs_total", "Leaderships that ended in disorder, by reason.", "reason"),
		proofs:     vector("coordinator_election_proofs_total", "Renewals of the election lease, by outcome.", "outcome"),
		reloads:    vector("coordinator_policy_reloads_total", "New contents of the policy file, accepted or refused.", "result"),
		calls:      vector("store_calls_total", "Calls of the store, by outcome.", "call", "outcome"),
		callTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "leasehold_store_call_duration_seconds", Help: "How long calls of the store took.",
			Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2},
		}, []string{"call"}),
	}
	// A counter that is not there before it counts has no increase that an alert
	// could see.
	for _, reason := range []string{"fenced", "stuck", "unknown_outcome", "lost_history", "failed"} {
		m.stepDowns.WithLabelValues(reason)
	}
	for _, result := range []string{"accepted", "refused"} {
		m.reloads.WithLabelValues(result)
	}
	r.MustRegister(m.granted, m.floorSpent, m.unreserved, m.rebalanced, m.answered, m.answerTime, m.transitions, m.cuts, m.refused, m.overspent, m.notWritten, m.malformed, m.talks, m.stepDowns, m.proofs,
		m.reloads, m.calls, m.callTime, newGauges(s))
	return m
}

// call notes one call of the store.
func (m *metrics) call(name string, began time.Time, err error) {
	m.calls.WithLabelValues(name, outcome(err)).Inc()
	m.callTime.WithLabelValues(name).Observe(time.Since(began).Seconds())
}

// outcome names an error of the store in a word.
func outcome(err error) string {
	for _, o := range []struct {
		err  error
		name string
	}{
		{lease.ErrFenced, "fenced"},
		{lease.ErrConflict, "conflict"},
		{lease.ErrUnknown, "unknown"},
		{lease.ErrNoSpace, "no_space"},
		{lease.ErrTooLarge, "too_large"},
		{lease.ErrUnavailable, "unavailable"},
	} {
		if errors.Is(err, o.err) {
			return o.name
		}
	}
	if err != nil {
		return "failed"
	}
	return "ok"
}

// gauges shows the present: what the leader's last view holds.
type gauges struct {
	s *Server

	leader, granting, sessions, links, revision, diskFree, diskShort, build *prometheus.Desc

	quota []quotaGauge
}

// quotaGauge is one figure of every quota.
type quotaGauge struct {
	desc  *prometheus.Desc
	value func(*lease.QuotaStats) int64
}

func newGauges(s *Server) *gauges {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("leasehold_"+name, help, labels, nil)
	}
	of := func(name, help string, value func(*lease.QuotaStats) int64) quotaGauge {
		return quotaGauge{desc: desc(name, help, "quota"), value: value}
	}
	return &gauges{
		s:        s,
		leader:   desc("coordinator_leader", "1 while this coordinator holds the election."),
		granting: desc("coordinator_granting", "1 while this coordinator leads and nothing keeps it from granting."),
		sessions: desc("coordinator_sessions", "Connected holders; regions that the policy does not name are \"other\".", "region"),
		links: desc("link_state", "Holders by the state of their link; regions that the policy does not name are \"other\".",
			"region", "state"),
		revision:  desc("policy_revision", "Revision of the policy in force."),
		diskFree:  desc("store_disk_free_bytes", "Free space under the embedded store."),
		diskShort: desc("store_disk_short", "1 while the store takes no writes for want of space."),
		build:     desc("build_info", "1, with the version that runs.", "version"),
		quota: []quotaGauge{
			of("lease_outstanding_tokens", "Upper bound of the leased tokens not yet spent, returned or destroyed.",
				func(q *lease.QuotaStats) int64 { return q.Stock.Outstanding }),
			of("stranded_tokens", "Of the outstanding tokens, those of holders that are not connected.",
				func(q *lease.QuotaStats) int64 { return q.Stranded }),
			of("ledger_imbalance_tokens", "By how much the books do not balance: always 0.",
				func(q *lease.QuotaStats) int64 { return q.Imbalance }),
			of("pool_tokens", "Tokens in the coordinator's hands, set aside or not.",
				func(q *lease.QuotaStats) int64 { return q.Stock.Pool + q.Stock.Chunk }),
			of("buckets", "Buckets in memory.", func(q *lease.QuotaStats) int64 { return int64(q.Buckets) }),
			of("floors_owned", "Parts of floors that have an owner.", func(q *lease.QuotaStats) int64 { return int64(q.Floors) }),
			of("ledger_spent_tokens", "Tokens reported spent since this leader was elected.",
				func(q *lease.QuotaStats) int64 { return q.Books.Spent }),
			of("ledger_destroyed_tokens", "Tokens destroyed since this leader was elected: expired, trimmed or of an ended window.",
				func(q *lease.QuotaStats) int64 { return q.Books.Destroyed }),
		},
	}
}

var (
	boundDesc = prometheus.NewDesc("leasehold_overshoot_bound_tokens",
		"The most by which a limit can have been exceeded since this leader was elected, by the cuts that took place; "+
			"+Inf without a bound.", []string{"quota"}, nil)
	observedDesc = prometheus.NewDesc("leasehold_overshoot_observed_tokens",
		"By how much reports prove that a limit was exceeded since then.", []string{"quota"}, nil)
	observedHighDesc = prometheus.NewDesc("leasehold_overshoot_observed_high_tokens",
		"By how much it may have been, as far as it was reported.", []string{"quota"}, nil)
)

// Describe implements prometheus.Collector.
func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		g.leader, g.granting, g.sessions, g.links, g.revision, g.diskFree, g.diskShort, g.build, boundDesc, observedDesc, observedHighDesc,
	} {
		out <- d
	}
	for _, q := range g.quota {
		out <- q.desc
	}
}

// Collect implements prometheus.Collector.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	gauge(g.build, 1, version.String())
	if g.s.opts.Backing.Disk != nil {
		d := g.s.opts.Backing.Disk()
		gauge(g.diskFree, float64(d.FreeBytes))
		gauge(g.diskShort, flag(d.Short))
	}
	t, v, leads := g.s.current()
	gauge(g.leader, flag(leads))
	gauge(g.granting, flag(g.s.granting()))
	if !leads {
		return
	}
	gauge(g.revision, float64(v.policy.Revision))
	for region, n := range t.regions(v) {
		gauge(g.sessions, float64(n), region)
	}
	g.collectLinks(t, v, gauge)
	for i := range v.quotas {
		for _, q := range g.quota {
			gauge(q.desc, float64(q.value(&v.quotas[i])), v.quotas[i].Quota)
		}
	}
}

// collectLinks shows the links of holders, and what their cuts can have added to each limit.
func (g *gauges) collectLinks(t *term, v *view, gauge func(*prometheus.Desc, float64, ...string)) {
	now := g.s.clock.Mono()
	for region, states := range v.links.States(t.named()) {
		for _, state := range linkStates {
			gauge(g.links, float64(states[state]), region, state)
		}
	}
	set := v.links.Policy()
	for i := range v.quotas {
		q := &v.quotas[i]
		p := set.Quota(q.Quota)
		if p == nil || p.Limit.Unbounded {
			continue // removed, or there is nothing that can be exceeded
		}
		bound := v.links.Bound(q.Quota, now, q.Observed.High)
		tokens := float64(bound.Tokens)
		if bound.Unbounded {
			tokens = math.Inf(1)
		}
		gauge(boundDesc, tokens, q.Quota)
		gauge(observedDesc, float64(q.Observed.Low), q.Quota)
		gauge(observedHighDesc, float64(q.Observed.High), q.Quota)
	}
}

// linkStates are all that a link can be in on this side: it begins with a Hello.
var linkStates = []string{
	partition.Connected.String(), partition.Suspect.String(), partition.CutOff.String(), partition.Healing.String(), partition.Gone,
}

// regions counts the sessions of the regions that the policy names; a holder may
// call itself anything, and must not make labels.
func (t *term) regions(v *view) map[string]int {
	named, n := t.named(), map[string]int{}
	for region := range named {
		n[region] = 0
	}
	for _, s := range v.sessions {
		n[label(named, s.Region)]++
	}
	return n
}

func flag(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
