package fleet

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/a1009580/leasehold/chaos/drill/proxy"
	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/scenario"
)

// The ports of all processes: each has an address of its own.
const (
	etcdClientPort  = 2379
	etcdPeerPort    = 2380
	coordinatorPort = 7400
	httpPort        = 7401
	regionPort      = 7500
)

// cluster is the name of every drill's cluster.
const cluster = "drill"

// Options are what New is told; all must be given.
type Options struct {
	Scenario *scenario.Scenario
	Network  Network
	// Binary is what every process is run from.
	Binary string
	Log    *slog.Logger
}

// Fleet is all processes of a drill. Its methods may be used concurrently, except
// for those that begin or end it.
type Fleet struct {
	opts Options
	all  []*Process
	said chan Said
	http *http.Client

	policyMu sync.Mutex
	policy   string // its file

	links []link
}

// link is a proxy on the way from one process to another.
type link struct {
	from, to *Process
	proxy    *proxy.Proxy
}

// New makes places for all processes, and starts none. Close ends what it made.
func New(o Options) (_ *Fleet, err error) {
	f := &Fleet{opts: o, said: make(chan Said, 4096), http: &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 4}}}
	made := f
	defer func() {
		if err != nil {
			err = errors.Join(err, made.Close())
		}
	}()
	f.policy = filepath.Join(o.Network.Dir(), "policy.yaml")
	if err := f.writePolicy(o.Scenario.Policy); err != nil {
		return nil, err
	}
	t := &o.Scenario.Topology
	for _, name := range t.Names() {
		place, err := o.Network.Place()
		if err != nil {
			return nil, err
		}
		f.all = append(f.all, &Process{Name: name, Place: place, binary: o.Binary, events: f.said})
	}
	for i, p := range f.all {
		switch {
		case i < t.Etcd:
			p.Kind, p.HTTP = result.Etcd, at(p, etcdClientPort)
		case i < t.Etcd+t.Coordinators:
			p.Kind, p.HTTP = result.Coordinator, at(p, httpPort)
		default:
			p.Kind, p.HTTP = result.Region, at(p, regionPort+1)
		}
	}
	if err := f.wire(); err != nil {
		return nil, err
	}
	return f, nil
}

// wire makes the proxies and the command lines.
func (f *Fleet) wire() error {
	for _, p := range f.Of(result.Etcd) {
		p.args = f.etcdArgs(p)
	}
	for i, p := range f.Of(result.Coordinator) {
		args, err := f.coordinatorArgs(i, p)
		if err != nil {
			return err
		}
		p.args = args
	}
	for i, p := range f.Of(result.Region) {
		args, err := f.regionArgs(&f.opts.Scenario.Topology.Regions[i], p)
		if err != nil {
			return err
		}
		p.args = args
	}
	return nil
}

func (f *Fleet) etcdArgs(p *Process) []string {
	var members []string
	for _, m := range f.Of(result.Etcd) {
		members = append(members, m.Name+"="+at(m, etcdPeerPort))
	}
	return []string{
		"etcd", "--name", p.Name, "--data-dir", f.dir(p), "--listen-client", at(p, etcdClientPort),
		"--listen-peer", at(p, etcdPeerPort), "--members", strings.Join(members, ","), "--log-format", "json",
	}
}

func (f *Fleet) coordinatorArgs(n int, p *Process) ([]string, error) {
	var endpoints []string
	for i, m := range f.Of(result.Etcd) {
		endpoint := at(m, etcdClientPort)
		if f.opts.Network.Proxied() {
			listen := net.JoinHostPort(p.Place.Addr(), strconv.Itoa(etcdClientPort+10+i))
			if err := f.link(p, m, listen, endpoint, proxy.Quality{}); err != nil {
				return nil, err
			}
			endpoint = listen
		}
		endpoints = append(endpoints, endpoint)
	}
	return []string{
		"coordinator", "--cluster", cluster, "--policy", f.policy, "--etcd-endpoints", strings.Join(endpoints, ","),
		"--listen", at(p, coordinatorPort), "--http", at(p, httpPort), "--advertise", f.opts.Network.Advertised(n),
		"--election-ttl", f.opts.Scenario.Topology.ElectionTTL.String(), "--new-cluster", "--log-format", "json",
	}, nil
}

func (f *Fleet) regionArgs(r *scenario.Region, p *Process) ([]string, error) {
	var coordinators []string
	for i, c := range f.Of(result.Coordinator) {
		listen, err := f.opts.Network.Front(p.Place, i)
		if err != nil {
			return nil, err
		}
		q := proxy.Quality{RoundTrip: r.RoundTrip, Loss: r.Loss}
		if err := f.link(p, c, listen, at(c, coordinatorPort), q); err != nil {
			return nil, err
		}
		coordinators = append(coordinators, listen)
	}
	return []string{
		"regional", "--region", r.Name, "--node", r.Name, "--cluster", cluster, "--coordinator", strings.Join(coordinators, ","),
		"--data-dir", f.dir(p), "--listen", at(p, regionPort), "--http", at(p, regionPort+1),
		"--drain-delay", "200ms", "--log-format", "json",
	}, nil
}

func at(p *Process, port int) string {
	return net.JoinHostPort(p.Place.Addr(), strconv.Itoa(port))
}

func (f *Fleet) dir(p *Process) string { return filepath.Join(f.opts.Network.Dir(), p.Name) }

// Said are the lines that all processes log. They wait until they are read, so
// that somebody must read them.
func (f *Fleet) Said() <-chan Said { return f.said }

// All are all processes, etcd first, then coordinators, then regions.
func (f *Fleet) All() []*Process { return f.all }

// Of are the processes of a kind.
func (f *Fleet) Of(kind result.Kind) []*Process {
	return slices.DeleteFunc(slices.Clone(f.all), func(p *Process) bool { return p.Kind != kind })
}

// Named returns a process, nil if there is none of that name.
func (f *Fleet) Named(name string) *Process {
	for _, p := range f.all {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// SetPolicy gives the coordinators another policy.
func (f *Fleet) SetPolicy(text string) error {
	if err := f.writePolicy(text); err != nil {
		return err
	}
	var all []error
	for _, c := range f.Of(result.Coordinator) {
		if c.Alive() {
			all = append(all, c.Hangup())
		}
	}
	return errors.Join(all...)
}

// writePolicy replaces the file at once: a coordinator never reads half of it.
func (f *Fleet) writePolicy(text string) error {
	f.policyMu.Lock()
	defer f.policyMu.Unlock()
	next := f.policy + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the policy: %w", err)
	}
	if err := os.Rename(next, f.policy); err != nil {
		return fmt.Errorf("write the policy: %w", err)
	}
	return nil
}

// Close kills all processes and ends all proxies.
func (f *Fleet) Close() error {
	var mu sync.Mutex
	var all []error
	var ending sync.WaitGroup
	note := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, err)
	}
	for _, p := range f.all {
		ending.Go(func() {
			if p.running() {
				_, err := p.Kill()
				note(err)
			}
		})
	}
	for _, l := range f.links {
		ending.Go(func() { note(l.proxy.Close()) })
	}
	ending.Wait()
	f.http.CloseIdleConnections()
	return errors.Join(all...)
}

// running says whether it runs, frozen or not.
func (p *Process) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.runs()
}

// patience is how long an answer to the drill's own questions may take.
const patience = 2 * time.Second
