package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// RegionStatus is of what a region says of itself what drills look at. Tokens are
// of the quota that was asked for.
type RegionStatus struct {
	State          string // ready, degraded, unready or draining
	Connected      bool
	PolicyRevision uint64
	Unspent        int64
	Link           LinkStatus
}

// LinkStatus is how a region says that its way to the coordinators is.
type LinkStatus struct {
	State       string `json:"state"` // never_connected, connected, suspect, cut_off or healing
	Transitions uint64 `json:"transitions_total"`
}

// Region asks a region about one quota, and then about its link.
func (f *Fleet) Region(ctx context.Context, p *Process, quota string) (RegionStatus, error) {
	var body struct {
		State       string `json:"state"`
		Coordinator struct {
			Connected bool `json:"connected"`
		} `json:"coordinator"`
		Revision uint64 `json:"policy_revision"`
		Quotas   []struct {
			Quota   string `json:"quota"`
			Unspent int64  `json:"unspent_tokens"`
		} `json:"quotas"`
	}
	if err := f.get(ctx, p, "/v1/status", &body); err != nil {
		return RegionStatus{}, err
	}
	var links struct {
		Links []LinkStatus `json:"links"`
	}
	if err := f.get(ctx, p, "/v1/links", &links); err != nil {
		return RegionStatus{}, err
	}
	if len(links.Links) != 1 {
		return RegionStatus{}, fmt.Errorf("%s tells of %d links, and has one", p.Name, len(links.Links))
	}
	s := RegionStatus{Link: links.Links[0], State: body.State, Connected: body.Coordinator.Connected, PolicyRevision: body.Revision}
	for _, q := range body.Quotas {
		if q.Quota == quota {
			s.Unspent = q.Unspent
		}
	}
	return s, nil
}

// CoordinatorStatus is of what a coordinator says of itself what drills look at.
type CoordinatorStatus struct {
	Role           string `json:"role"` // leader, standby or draining
	Ready          bool   `json:"ready"`
	Granting       bool   `json:"granting"`
	Epoch          string `json:"epoch"` // history.revision
	PolicyRevision uint64 `json:"policy_revision"`
	Overspent      int64  `json:"overspent_reports"`
	Sessions       []struct {
		Region string `json:"region"`
	} `json:"sessions"`
	Quotas []struct {
		Quota     string `json:"quota"`
		Stranded  int64  `json:"stranded_tokens"`
		Imbalance int64  `json:"imbalance_tokens"`
	} `json:"quotas"`
}

// Leads says that it believes to lead.
func (s *CoordinatorStatus) Leads() bool { return s.Role == "leader" }

// Connected says that a region has a session with it.
func (s *CoordinatorStatus) Connected(region string) bool {
	for _, c := range s.Sessions {
		if c.Region == region {
			return true
		}
	}
	return false
}

// Coordinator asks a coordinator.
func (f *Fleet) Coordinator(ctx context.Context, p *Process) (s CoordinatorStatus, err error) {
	err = f.get(ctx, p, "/v1/status", &s)
	return s, err
}

// Leader returns the coordinator that grants, and nil when none says so.
func (f *Fleet) Leader(ctx context.Context) *Process {
	for _, c := range f.Of(result.Coordinator) {
		if !c.Alive() {
			continue
		}
		if s, err := f.Coordinator(ctx, c); err == nil && s.Leads() && s.Granting {
			return c
		}
	}
	return nil
}

// Bound asks the coordinator that leads by how many tokens a quota can be
// exceeded; it is nil when nobody can tell, or there is no bound.
func (f *Fleet) Bound(ctx context.Context, quota string) *int64 {
	leader := f.Leader(ctx)
	if leader == nil {
		return nil
	}
	var body struct {
		Quotas []struct {
			Quota string `json:"quota"`
			Bound *int64 `json:"bound_tokens"`
		} `json:"quotas"`
	}
	if err := f.get(ctx, leader, "/v1/overshoot", &body); err != nil {
		f.opts.Log.Warn("the coordinator does not tell its bound", "error", err)
		return nil
	}
	for _, q := range body.Quotas {
		if q.Quota == quota {
			return q.Bound
		}
	}
	return nil
}

// EtcdLeader returns the member that leads, by its own metrics.
func (f *Fleet) EtcdLeader(ctx context.Context) (*Process, error) {
	var all []error
	for _, m := range f.Of(result.Etcd) {
		leads, err := f.leads(ctx, m)
		if err != nil {
			all = append(all, err)
		}
		if leads {
			return m, nil
		}
	}
	return nil, errors.Join(append(all, errors.New("no member of etcd says that it leads"))...)
}

func (f *Fleet) leads(ctx context.Context, m *Process) (bool, error) {
	answer, err := f.ask(ctx, m, "/metrics")
	if err != nil {
		return false, err
	}
	defer answer.Body.Close()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if value, ok := strings.CutPrefix(lines.Text(), "etcd_server_is_leader "); ok {
			return value == "1", nil
		}
	}
	return false, errors.Join(fmt.Errorf("%s does not say whether it leads", m.Name), lines.Err())
}

// ask sends a question; an answer other than 200 is an error.
func (f *Fleet) ask(ctx context.Context, p *Process, path string) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+p.HTTP+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	answer, err := f.http.Do(q)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", p.Name, err)
	}
	if answer.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("ask %s for %s: status %s", p.Name, path, answer.Status), answer.Body.Close())
	}
	return answer, nil
}

func (f *Fleet) get(ctx context.Context, p *Process, path string, into any) error {
	answer, err := f.ask(ctx, p, path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<22))
	if err != nil {
		return fmt.Errorf("ask %s: %w", p.Name, err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s answers %s strangely: %w", p.Name, path, err)
	}
	return nil
}
