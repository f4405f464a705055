package prometheus_test

import (
	"net"
	"regexp"
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/internal/clock"
	"github.com/a1009580/leasehold/internal/coordinator"
	"github.com/a1009580/leasehold/internal/regional"
	"github.com/a1009580/leasehold/lease/memstore"
	"github.com/a1009580/leasehold/limiter"
)

func number(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	require.NoError(t, err)
	return n
}

// registries are those of a coordinator and of a region, neither of which runs: what they export is decided
// before.
func registries(t *testing.T) []*prometheus.Registry {
	t.Helper()
	listen := func() net.Listener {
		l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, l.Close()) })
		return l
	}
	c := clock.New(1)
	store := memstore.New(memstore.Options{Now: c.Mono, After: c.After})
	all := []*prometheus.Registry{prometheus.NewRegistry(), prometheus.NewRegistry()}
	_, err := coordinator.New(coordinator.Options{
		Listener: listen(), HTTPListener: listen(), Backing: coordinator.Backing{Store: store, Elector: store}, Clock: c,
		Policy: []byte("apiVersion: leasehold/v1\ndomain: api\nquotas: []\n"), PolicyName: "policy.yaml", Registry: all[0],
	})
	require.NoError(t, err)
	_, err = regional.New(regional.Options{
		Limiter: limiter.Options{Region: "eu", Node: "n1", Coordinators: []string{"127.0.0.1:1"}},
		GRPC:    listen(), HTTP: listen(), Registry: all[1],
	})
	require.NoError(t, err)
	return all
}

// has says that a registry knows a metric, whether or not it has a value: nothing else can be registered under its
// name.
func has(r *prometheus.Registry, name string) bool {
	other := prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: "A name that may be taken."})
	if err := r.Register(other); err != nil {
		return true
	}
	r.Unregister(other)
	return false
}

func TestEveryMetricOfAnAlertIsExported(t *testing.T) {
	all := registries(t)
	require.False(t, has(all[0], "leasehold_nothing"))
	metric := regexp.MustCompile(`leasehold_[a-z_]+`)
	for _, r := range rules(t) {
		for _, name := range metric.FindAllString(r.Expr, -1) {
			require.True(t, has(all[0], name) || has(all[1], name), "%s: nobody exports %s", r.Alert, name)
		}
	}
}
