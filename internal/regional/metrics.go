package regional

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/a1009580/leasehold/internal/envoy"
	"github.com/a1009580/leasehold/internal/version"
)

// metrics is what the servers count beside the limiter.
type metrics struct {
	duration *prometheus.HistogramVec
	grpc     prometheus.Observer
	http     prometheus.Observer
	batch    prometheus.Observer
	envoy    prometheus.Observer
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "leasehold_check_duration_seconds", Help: "Time from a request's arrival to its answer, by way of asking.",
		Buckets: []float64{.00001, .000025, .00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5},
	}, []string{"api"})}
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "leasehold_build_info", Help: "1, with the version that runs.", ConstLabels: prometheus.Labels{"version": version.String()},
	}, func() float64 { return 1 })
	for _, c := range []prometheus.Collector{m.duration, build} {
		if err := r.Register(c); err != nil {
			return nil, fmt.Errorf("regional: metrics: %w", err)
		}
	}
	m.grpc, m.http, m.batch = m.duration.WithLabelValues("grpc"), m.duration.WithLabelValues("http"), m.duration.WithLabelValues("grpc_batch")
	m.envoy = m.duration.WithLabelValues("envoy")
	return m, nil
}

// heldByProxies collects what proxies may still admit by Envoy's quota protocol.
type heldByProxies struct{ s *envoy.QuotaService }

var heldDesc = prometheus.NewDesc("leasehold_proxy_held_tokens", "The most that proxies may still admit of what they are assigned.", []string{"quota"}, nil)

// Describe implements prometheus.Collector.
func (heldByProxies) Describe(ch chan<- *prometheus.Desc) { ch <- heldDesc }

// Collect implements prometheus.Collector.
func (h heldByProxies) Collect(ch chan<- prometheus.Metric) {
	for quota, tokens := range h.s.Held() {
		ch <- prometheus.MustNewConstMetric(heldDesc, prometheus.GaugeValue, float64(tokens), quota)
	}
}
