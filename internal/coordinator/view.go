package coordinator

import (
	"cmp"
	"slices"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
)

// view is what a term shows of itself: a copy that the loop makes now and then,
// so that whoever looks never disturbs it. It does not change.
type view struct {
	at       time.Duration // the clock's Mono
	epoch    lease.Epoch
	booted   bool
	pausing  string // why nothing is granted; "" while the ledger grants
	policy   lease.PolicyRecord
	stats    lease.Stats
	quotas   []lease.QuotaStats
	sessions []sessionView
	links    *partition.Picture
	queued   int // transactions that wait or are on their way
}

type sessionView struct {
	Region    string `json:"region"`
	Node      string `json:"node"`
	Holder    string `json:"holder"`
	Session   uint64 `json:"session"`
	Greeted   bool   `json:"greeted"`
	SinceMS   int64  `json:"since_ms"`
	SilenceMS int64  `json:"silence_ms"`
}

// viewTime is how old a view may get, by the clock.
const viewTime = 100 * time.Millisecond

// publish makes a view. The loop calls it.
func (t *term) publish(now lease.Moment) {
	t.shown, t.news = now.Mono, false
	v := &view{
		at: now.Mono, epoch: t.ledger.Epoch(), booted: t.booted.Load(), policy: t.ledger.Policy(),
		queued: t.flying + len(t.waiting),
	}
	_, v.pausing = t.ledger.Granting(now)
	v.stats, v.quotas = t.ledger.Snapshot()
	for n, c := range t.talks {
		if c.holder.Region == "" {
			continue // its Hello has not come
		}
		v.sessions = append(v.sessions, sessionView{
			Region: c.holder.Region, Node: c.holder.Node, Holder: c.holder.String(), Session: n, Greeted: c.greeted.Load(),
			SinceMS: (now.Mono - c.since).Milliseconds(), SilenceMS: (now.Mono - time.Duration(c.heard.Load())).Milliseconds(),
		})
	}
	slices.SortFunc(v.sessions, func(a, b sessionView) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Session, b.Session))
	})
	v.links = t.board.Picture(now.Mono)
	t.view.Store(v)
	t.count(v)
	t.noteLinks()
}

// count tells the counters what was added since the last view.
func (t *term) count(v *view) {
	for i := range v.quotas {
		q, known := &v.quotas[i], t.counted[v.quotas[i].Quota]
		t.metrics.granted.WithLabelValues(q.Quota).Add(float64(q.Granted - known.Granted))
		t.metrics.floorSpent.WithLabelValues(q.Quota).Add(float64(q.FloorSpent - known.FloorSpent))
		t.metrics.unreserved.WithLabelValues(q.Quota).Add(float64(q.Overspent - known.Overspent))
		t.metrics.rebalanced.WithLabelValues(q.Quota).Add(float64(q.Moved.Tokens - known.Moved.Tokens))
		t.metrics.answered.WithLabelValues(q.Quota).Add(float64(q.Moved.Recalls - known.Moved.Recalls))
		t.metrics.answerTime.WithLabelValues(q.Quota).Add((q.Moved.Time - known.Moved.Time).Seconds())
		t.counted[q.Quota] = *q
	}
	t.metrics.refused.Add(float64(v.stats.Refused - t.seen.Refused))
	t.metrics.overspent.Add(float64(v.stats.Malformed - t.seen.Malformed))
	t.metrics.notWritten.Add(float64(v.stats.NotWritten - t.seen.NotWritten))
	t.seen = v.stats
}

// current returns the term and its view, and false when this process does not
// lead.
func (s *Server) current() (*term, *view, bool) {
	t := s.term.Load()
	if t == nil {
		return nil, nil, false
	}
	return t, t.view.Load(), true
}
