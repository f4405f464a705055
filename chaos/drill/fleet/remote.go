package fleet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os/exec"
	"slices"

	"github.com/a1009580/leasehold/chaos/drill/proxy"
	"github.com/a1009580/leasehold/chaos/drill/result"
)

// Target is a deployment that runs already, by the HTTP addresses of its
// processes.
type Target struct {
	Regions      map[string]string // by the region's name
	Coordinators []string
}

// Remote returns the fleet of a target. It can be asked, and nothing else: whoever
// runs the target makes its faults.
func Remote(t Target, log *slog.Logger) *Fleet {
	f := &Fleet{
		opts: Options{Network: Elsewhere{}, Log: log}, said: make(chan Said),
		http: &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: 4}},
	}
	for i, addr := range t.Coordinators {
		f.all = append(f.all, remote(fmt.Sprintf("coordinator-%d", i+1), result.Coordinator, addr))
	}
	for _, name := range slices.Sorted(maps.Keys(t.Regions)) {
		f.all = append(f.all, remote(name, result.Region, t.Regions[name]))
	}
	return f
}

func remote(name string, kind result.Kind, addr string) *Process {
	return &Process{Name: name, Kind: kind, HTTP: addr, Place: elsewhere(addr), remote: true}
}

// AllReady waits until every process of the fleet is ready.
func (f *Fleet) AllReady(ctx context.Context) error {
	for _, p := range f.all {
		if err := f.Ready(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

var errElsewhere = errors.New("the target is not the drill's to start, cut or stop")

// Elsewhere is the network of a target, of which a drill knows addresses alone.
type Elsewhere struct{}

// Mode implements Network.
func (Elsewhere) Mode() string { return "target" }

// Dir implements Network.
func (Elsewhere) Dir() string { return "" }

// Place implements Network.
func (Elsewhere) Place() (Place, error) { return nil, errElsewhere }

// Front implements Network.
func (Elsewhere) Front(Place, int) (string, error) { return "", errElsewhere }

// Advertised implements Network.
func (Elsewhere) Advertised(int) string { return "" }

// Proxied implements Network.
func (Elsewhere) Proxied() bool { return false }

// Through implements Network.
func (Elsewhere) Through(_, _ Place, _ *proxy.Proxy) {}

// Cut implements Network.
func (Elsewhere) Cut(_, _ Place) (Cut, error) { return nil, errElsewhere }

// elsewhere is the place of a process of a target: the host of its address.
type elsewhere string

// Addr implements Place.
func (e elsewhere) Addr() string {
	host, _, err := net.SplitHostPort(string(e))
	if err != nil {
		return string(e)
	}
	return host
}

// Start implements Place.
func (elsewhere) Start(*exec.Cmd) error { return errElsewhere }

// Listen implements Place.
func (elsewhere) Listen(context.Context, string) (net.Listener, error) { return nil, errElsewhere }

// Dial implements Place.
func (elsewhere) Dial(context.Context, string) (net.Conn, error) { return nil, errElsewhere }
