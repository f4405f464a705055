package limiter_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

func TestOptionsAreRefusedByFieldAndValue(t *testing.T) {
	sound := limiter.Options{Region: "eu", Coordinators: []string{"a:1"}}
	for _, c := range []struct {
		change func(o *limiter.Options)
		want   string
	}{
		{func(o *limiter.Options) { o.Region = "" }, `Region ""`},
		{func(o *limiter.Options) { o.Region = strings.Repeat("r", 257) }, "Region"},
		{func(o *limiter.Options) { o.Node = strings.Repeat("n", 257) }, "Node"},
		{func(o *limiter.Options) { o.Cluster = strings.Repeat("c", 257) }, "Cluster"},
		{func(o *limiter.Options) { o.Coordinators = nil }, `Coordinators "[]"`},
		{func(o *limiter.Options) { o.Coordinators = []string{"a:1", " b:2"} }, `Coordinators[1] " b:2"`},
		{func(o *limiter.Options) { o.ColdWait = time.Hour }, `ColdWait "1h0m0s"`},
		{func(o *limiter.Options) { o.DataDir = "/dev/null/x" }, `DataDir "/dev/null/x"`},
	} {
		o := sound
		c.change(&o)
		_, err := limiter.New(o)
		require.ErrorIs(t, err, limiter.ErrOptions)
		require.ErrorContains(t, err, c.want)
	}
}

func TestMEM01_KeysThatAreUsedOnceAreForgotten(t *testing.T) {
	keys := 100_000
	if raceEnabled {
		keys = 5_000
	}
	synctest.Test(t, func(t *testing.T) {
		c := limitertest.New(t, limitertest.Options{Policy: perKey(ample)})
		l := region(t, c, func(o *limiter.Options) { o.ColdWait = -1 })
		ready(t, l)
		heap := func() int64 {
			runtime.GC()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			return int64(m.HeapAlloc)
		}
		before := heap()
		for i := range keys {
			allow(t, l, key(fmt.Sprintf("a key that is used once, number %d", i)), 1)
			if i%(keys/10) == 0 {
				time.Sleep(100 * time.Millisecond)
			}
		}
		time.Sleep(time.Second)
		full := heap()
		s := l.Status().Quotas[0]
		assert.Equal(t, int64(keys), s.Buckets)
		assert.Positive(t, s.Unspent)
		time.Sleep(40 * time.Second)
		s = l.Status().Quotas[0]
		assert.Zero(t, s.Buckets)
		assert.Zero(t, s.Unspent)
		assert.Equal(t, s.Credited, s.Returned, "nothing was spent, so all was given back")
		assert.Zero(t, c.Stats()["api/key"].Buckets)
		after := heap()
		t.Logf("heap before %d KiB, with %d keys %d KiB, after %d KiB", before>>10, keys, full>>10, after>>10)
		assert.Less(t, after-before, (full-before)/4)
	})
}

func TestMEM05_KeysBeyondTheCapShareOneBucket(t *testing.T) {
	text := head + "quotas: [{name: key, match: {api_key: '*'}, limit: {tokens: 10, per: 1h}, partition: {mode: fail_closed}, max_keys: 5}]"
	run(t, text, func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		admitted := 0
		for i := range 50 {
			if allow(t, l, key(fmt.Sprint(i)), 1).Allowed {
				admitted++
			}
			time.Sleep(60 * time.Millisecond)
		}
		assert.Equal(t, 5+10, admitted)
		s := l.Status().Quotas[0]
		assert.Equal(t, int64(6), s.Buckets)
		assert.Equal(t, int64(45), s.Overflow)
		assert.Equal(t, 6, c.Stats()["api/key"].Buckets)
	})
}

func TestKEY07_MetricsParseAndShowNoKey(t *testing.T) {
	run(t, several, func(t *testing.T, c *limitertest.Coordinator, _ *limiter.Limiter) {
		registry := prometheus.NewPedanticRegistry()
		l := region(t, c, func(o *limiter.Options) { o.Registerer = registry; o.Node = "n2" })
		ready(t, l)
		for _, k := range []string{"10.0.0.1/32", `a{b="c"}`, "with\nnewline", "s3cret"} {
			allow(t, l, key(k), 1)
		}
		_, _ = l.Allow(t.Context(), limiter.Request{Domain: "s3cret domain"})
		families, err := registry.Gather()
		require.NoError(t, err)
		var text strings.Builder
		values := map[string]float64{}
		for _, f := range families {
			_, err := expfmt.MetricFamilyToText(&text, f)
			require.NoError(t, err)
			for _, m := range f.GetMetric() {
				name := f.GetName()
				for _, label := range m.GetLabel() {
					name += " " + label.GetValue()
				}
				values[name] = m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
		for _, secret := range []string{"10.0.0.1", "a{b", "newline", "s3cret"} {
			assert.NotContains(t, text.String(), secret)
		}
		parser := expfmt.NewTextParser(model.LegacyValidation)
		_, err = parser.TextToMetricFamilies(strings.NewReader(text.String()))
		require.NoError(t, err)
		assert.Equal(t, 3.0, values["leasehold_checks_total allowed api/key"])
		assert.Equal(t, 1.0, values["leasehold_checks_total denied api/all"])
		assert.Equal(t, 1.0, values["leasehold_denied_total api/all exhausted"])
		assert.Equal(t, 1.0, values["leasehold_unknown_domain_total"])
		assert.Equal(t, 1.0, values["leasehold_coordinator_reachable"])
		assert.Equal(t, 4.0, values["leasehold_live_buckets api/key"])
		_, err = limiter.New(limiter.Options{Region: "eu", Coordinators: []string{"x:1"}, Registerer: registry})
		require.ErrorContains(t, err, "Registerer", "two limiters in one registry must be told apart by who registers them")
		require.NoError(t, l.Close(t.Context()))
		families, err = registry.Gather()
		require.NoError(t, err)
		assert.Empty(t, families, "a closed limiter leaves nothing")
	})
}
