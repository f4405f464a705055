package coordinator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/policy"
)

// rules are a policy in the forms that a leader needs.
type rules struct {
	set       *policy.Set
	canonical []byte
	terms     []lease.Terms
}

func parseRules(name string, data []byte) (*rules, error) {
	set, err := ParsePolicy(name, data)
	if err != nil {
		return nil, err
	}
	return &rules{set: set, canonical: set.MarshalCanonical(), terms: set.Terms()}, nil
}

// CheckPolicy says what is wrong with a policy, with the place of each problem.
func CheckPolicy(name string, data []byte) error {
	_, err := parseRules(name, data)
	return err
}

// follows says what is wrong with a change from old to r, at its place in r's
// file.
func (r *rules) follows(old *rules) error {
	err := lease.Compatible(old.terms, r.terms)
	if err == nil {
		return nil
	}
	for i := range r.terms {
		if lease.Compatible(old.terms, r.terms[i:i+1]) != nil {
			q := r.set.Quota(r.terms[i].Quota)
			return fmt.Errorf("%s:%d:%d: %w", q.File, q.Line, q.Column, err)
		}
	}
	return err
}

// assumedRoundTrip is that of far regions: warnings must not wait until one is
// measured.
const assumedRoundTrip = 200 * time.Millisecond

func (r *rules) warn(log *slog.Logger, interval time.Duration) {
	for _, w := range r.set.Warnings(assumedRoundTrip, interval) {
		log.Warn("policy: "+w.Text, "quota", w.Quota, "at", fmt.Sprintf("%s:%d:%d", w.File, w.Line, w.Column))
	}
}

// errUnsteady says that a file changed while it was read.
var errUnsteady = errors.New("the file is being written")

// watcher reads a policy, a file or a directory, again and again. It looks at the content, so that
// it does not matter how the file was replaced.
type watcher struct {
	path string
	read func(path string) ([]byte, error)
	last []byte // the content that was seen last, good or bad
	said string // the last trouble with reading it
	// trouble is what is wrong with the content that was seen last.
	trouble *fileTrouble
}

// changed returns a content that was not seen before. A file that is being
// written is left alone until it stands still.
func (w *watcher) changed() (data []byte, news bool, err error) {
	first, err := w.read(w.path)
	if err != nil {
		return nil, false, err
	}
	if bytes.Equal(first, w.last) {
		return nil, false, nil
	}
	time.Sleep(settleTime)
	second, err := w.read(w.path)
	if err != nil {
		return nil, false, err
	}
	if !bytes.Equal(first, second) {
		return nil, false, errUnsteady
	}
	w.last = second
	return second, true, nil
}

// settleTime is how long a new content must stand unchanged.
const settleTime = 50 * time.Millisecond

// watchPolicy applies every new content of the policy file until ctx ends. A
// bad one changes nothing and is said once, with its place.
func (s *Server) watchPolicy(ctx context.Context) {
	if s.opts.PolicyFile == "" {
		return
	}
	w := &watcher{path: s.opts.PolicyFile, read: ReadPolicy, last: s.opts.Policy}
	ticker := time.NewTicker(s.opts.PollPolicy)
	defer ticker.Stop()
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		case <-s.opts.Reload:
			asked = true
		}
		s.reload(w, asked)
	}
}

// fileTrouble is why the policy file's content is not in force, and since when.
type fileTrouble struct {
	why string
	at  time.Time
}

// reload looks at the file once.
func (s *Server) reload(w *watcher, asked bool) {
	data, news, err := w.changed()
	switch {
	case errors.Is(err, errUnsteady):
		return
	case err != nil:
		if text := err.Error(); text != w.said || asked {
			w.said = text
			s.refused.Store(&fileTrouble{why: text, at: time.Now()})
			s.log.Error("the policy file cannot be read, the policy stays as it is", "error", err)
		}
		return
	}
	if w.said != "" {
		w.said = ""
		s.refused.Store(w.trouble) // what was wrong with the content before it could not be read
	}
	if !news {
		if asked {
			s.tellInForce(w.path)
		}
		return
	}
	next, err := parseRules(s.opts.PolicyName, data)
	if err == nil && bytes.Equal(next.canonical, s.rules.Load().canonical) {
		// Also when the stored policy is enforced instead: a comment must not
		// bring back limits that were replaced.
		w.trouble = nil
		s.refused.Store(nil)
		s.log.Info("the policy file has changed, but means the same as before", "file", w.path)
		if s.overruled.Load() != nil {
			s.tellInForce(w.path)
		}
		return
	}
	if err == nil {
		err = s.offer(next)
	}
	if err != nil {
		w.trouble = &fileTrouble{why: err.Error(), at: time.Now()}
		s.refused.Store(w.trouble)
		s.metrics.reloads.WithLabelValues("refused").Inc()
		for line := range strings.Lines(err.Error()) {
			s.log.Error("the new policy is refused, the old one stays: " + strings.TrimSpace(line))
		}
		return
	}
	w.trouble = nil
	s.refused.Store(nil)
	s.overruled.Store(nil)
	s.metrics.reloads.WithLabelValues("accepted").Inc()
	next.warn(s.log, s.opts.ReportInterval)
}

// tellInForce says what is in force although nobody changed the file.
func (s *Server) tellInForce(file string) {
	log := s.log.With("file", file)
	if _, v, leads := s.current(); leads {
		log = log.With("revision", v.policy.Revision)
	}
	if t := s.refused.Load(); t != nil {
		log.Warn("the policy file has not changed since it was refused, the old policy is in force", "why", t.why, "since", t.at)
		return
	}
	if t := s.overruled.Load(); t != nil {
		log.Warn("the policy file has not changed, and the stored policy is in force instead", "why", t.why, "since", t.at)
		return
	}
	log.Info("the policy file has not changed")
}

// offer takes a new policy: the leader brings it into force, others keep it for
// when they lead.
func (s *Server) offer(next *rules) error {
	t, old := s.term.Load(), s.rules.Load()
	if t != nil {
		old = t.inForce.Load()
	}
	if err := next.follows(old); err != nil {
		return err
	}
	if t != nil {
		t.post(func(lease.Moment) { t.wanted = next })
	}
	for _, c := range policy.Diff(old.set, next.set) {
		s.log.Info("policy change: "+c.Text, "id", c.ID, "kind", c.Kind.String())
	}
	s.rules.Store(next)
	return nil
}
