package limiter_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/a1009580/leasehold/limiter"
	"github.com/a1009580/leasehold/limiter/limitertest"
)

// spend decides until something is denied, and returns the tokens admitted and
// the denial.
func spend(t testing.TB, l *limiter.Limiter, k string) (admitted int64, last limiter.Decision) {
	t.Helper()
	for {
		if last = allow(t, l, key(k), 1); !last.Allowed {
			return admitted, last
		}
		admitted++
	}
}

func TestLSE03_AHolderStopsAtItsOwnDeadlineAndComesBack(t *testing.T) {
	for name, fault := range map[string]func(c *limitertest.Coordinator){
		"replies are lost":     func(c *limitertest.Coordinator) { c.SetFaults(limitertest.Faults{Mute: true}) },
		"the stream is closed": func(c *limitertest.Coordinator) { c.SetFaults(limitertest.Faults{Refusing: true}); c.Break() },
		"the stream is frozen": func(c *limitertest.Coordinator) { c.SetFaults(limitertest.Faults{Frozen: true}) },
	} {
		t.Run(name, func(t *testing.T) {
			run(t, perKey("{tokens: 100000, per: 10s}"), func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
				for range 30 { // so that there is demand
					allow(t, l, key("a"), 100)
					time.Sleep(50 * time.Millisecond)
				}
				began := time.Now()
				fault(c)
				var lasted time.Duration
				for time.Since(began) < 15*time.Second {
					if allow(t, l, key("a"), 1).Allowed {
						lasted = time.Since(began)
					}
					time.Sleep(50 * time.Millisecond)
				}
				assert.Greater(t, lasted, time.Second, "a lease is spent while it lasts")
				assert.LessOrEqual(t, lasted, 5*time.Second, "and not beyond its end")
				d := allow(t, l, key("a"), 1)
				assert.Equal(t, limiter.CutOff, d.Reason)
				assert.Positive(t, d.RetryAfter)
				assert.False(t, l.Connected())

				c.SetFaults(limitertest.Faults{})
				began = time.Now()
				for !allow(t, l, key("a"), 1).Allowed {
					time.Sleep(50 * time.Millisecond)
					require.Less(t, time.Since(began), 6*time.Second, "%+v", l.Status())
				}
			})
		})
	}
}

func TestLostGrantsAreRepaired(t *testing.T) {
	run(t, perKey(ample), func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		c.SetFaults(limitertest.Faults{Dropping: true})
		admitted := 0
		for range 600 {
			if allow(t, l, key("a"), 1).Allowed {
				admitted++
			}
			time.Sleep(20 * time.Millisecond)
		}
		assert.Greater(t, admitted, 550)
		c.SetFaults(limitertest.Faults{})
		time.Sleep(3 * time.Second)
		assert.Equal(t, int64(admitted), c.Stats()["api/key"].Books.Spent)
	})
}

const floors = head + `quotas:
- {name: key, match: {api_key: "*"}, limit: {tokens: 1000, per: 10s}, partition: {floor: 10%}, regions: {eu: {}, us: {}}}
`

func TestACutOffRegionLivesOnItsFloor(t *testing.T) {
	run(t, floors, func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		time.Sleep(15 * time.Second) // the floor fills
		c.SetFaults(limitertest.Faults{Refusing: true})
		c.Break()
		synctest.Wait()
		admitted, d := spend(t, l, "never seen before")
		assert.Equal(t, int64(100), admitted, "the burst of the floor")
		assert.Equal(t, limiter.CutOff, d.Reason)
		assert.Equal(t, 100*time.Millisecond, d.RetryAfter.Round(10*time.Millisecond), "by the floor's rate alone")
		time.Sleep(10 * time.Second)
		admitted, _ = spend(t, l, "never seen before")
		assert.Equal(t, int64(100), admitted, "and its rate")
		s := l.Status()
		assert.True(t, s.Quotas[0].FloorOwned)
		assert.False(t, s.Connected)
		assert.NotEmpty(t, s.LastError)
	})
}

// blackHole dials and never gets an answer.
func blackHole() grpc.DialOption {
	return grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
}

func TestFAIL01_ABlackHoleDelaysNoDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		c := limitertest.New(t, limitertest.Options{Policy: perKey(ample)})
		first := region(t, c, func(o *limiter.Options) { o.DataDir = dir })
		ready(t, first)
		require.NoError(t, first.Close(t.Context()))

		l := region(t, c, func(o *limiter.Options) { o.DataDir = dir; o.DialOptions = []grpc.DialOption{blackHole()} })
		before := runtime.NumGoroutine()
		for range 60 {
			began := time.Now()
			for range 100 {
				d := allow(t, l, key("a"), 1)
				assert.Equal(t, limiter.NoLease, d.Reason)
			}
			assert.Zero(t, time.Since(began))
			time.Sleep(time.Second)
		}
		assert.InDelta(t, before, runtime.NumGoroutine(), 10)
	})
}

func TestFAIL01_AFrozenCoordinatorDelaysAColdKeyToItsCallersDeadline(t *testing.T) {
	run(t, perKey(ample), func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		c.SetFaults(limitertest.Faults{Frozen: true})
		for _, patience := range []time.Duration{30 * time.Millisecond, 300 * time.Millisecond, time.Hour} {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			began := time.Now()
			d, err := l.Allow(ctx, key("cold"))
			cancel()
			require.NoError(t, err)
			assert.Equal(t, limiter.NoLease, d.Reason)
			assert.Positive(t, d.RetryAfter)
			assert.Equal(t, min(patience, time.Second), time.Since(began), "its own deadline, or ColdWait")
		}
	})
}

func TestOneGrantOneCredit(t *testing.T) {
	const callers = 128
	c := limitertest.New(t, limitertest.Options{Policy: perKey("{tokens: 20000, per: 1s, burst: 20000}"), Delay: 2 * time.Millisecond})
	l := region(t, c)
	ready(t, l)
	var admitted atomic.Int64
	var all sync.WaitGroup
	end := time.Now().Add(time.Second)
	for i := range callers {
		all.Go(func() {
			h, err := l.Handle(key("hot"))
			if !assert.NoError(t, err) {
				return
			}
			for time.Now().Before(end) {
				n := int64(1 + i%3)
				switch i % 8 {
				case 0, 2, 4, 6:
					if h.AllowN(n) {
						admitted.Add(n)
					}
				case 1:
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
					if l.WaitN(ctx, key("hot"), n) == nil {
						admitted.Add(n)
					}
					cancel()
				default:
					if d, err := l.AllowN(t.Context(), key("hot"), n); err == nil && d.Allowed {
						admitted.Add(n)
					}
				}
			}
		})
	}
	all.Wait()
	assert.Greater(t, admitted.Load(), int64(5000))
	assert.Eventually(t, func() bool {
		s := l.Status().Quotas[0]
		return c.Stats()["api/key"].Books.Spent == admitted.Load() && s.Credited == admitted.Load()+s.Returned+s.Unspent
	}, 10*time.Second, 5*time.Millisecond, "spent is what was admitted")
	assert.Eventually(t, func() bool { return l.Status().Quotas[0].Credited == c.Granted() }, 10*time.Second, 5*time.Millisecond,
		"credited %d, granted %d", l.Status().Quotas[0].Credited, c.Granted())
	c.Check()
}

func TestHOT01_AnIdleLimiterIsQuiet(t *testing.T) {
	run(t, perKey(ample), func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		for range 10 {
			allow(t, l, key("a"), 1)
		}
		time.Sleep(20 * time.Second)
		before := c.Received()
		time.Sleep(time.Minute)
		assert.InDelta(t, 60, c.Received()-before, 6, "heartbeats and nothing else")
	})
}

func TestAHeldKeySurvivesTheEvictionOfItsCell(t *testing.T) {
	run(t, perKey(ample), func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		h, err := l.Handle(key("a"))
		require.NoError(t, err)
		require.NoError(t, h.Wait(t.Context()))
		assert.True(t, h.Allow())
		time.Sleep(30 * time.Second)
		assert.Zero(t, l.Status().Quotas[0].Buckets, "idle buckets are forgotten")
		assert.Zero(t, c.Stats()["api/key"].Buckets, "everywhere")
		assert.False(t, h.Allow(), "Allow does not wait for a lease")
		d, err := h.Decide(t.Context(), 1)
		require.NoError(t, err)
		assert.True(t, d.Allowed)
		assert.True(t, h.Allow())
		assert.Equal(t, int64(1), l.Status().Quotas[0].Buckets)
	})
}

func TestANewPolicyReplacesTheOld(t *testing.T) {
	run(t, perKey("{tokens: 2, per: 1h}"), func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		h, err := l.Handle(key("a"))
		require.NoError(t, err)
		require.NoError(t, h.Wait(t.Context()))
		c.SetPolicy(head + "quotas: [{name: other, match: {}, limit: {tokens: 5, per: 1h}, partition: {mode: fail_closed}}]")
		time.Sleep(2 * time.Second)
		admitted, d := spend(t, l, "a")
		assert.Equal(t, int64(5), admitted)
		assert.Equal(t, "api/other", d.Quota)
		assert.False(t, h.Allow())
		s := l.Status()
		require.Len(t, s.Quotas, 1)
		assert.Equal(t, uint64(2), s.PolicyRevision)
		c.SetPolicy(head + "quotas: []")
		time.Sleep(2 * time.Second)
		assert.True(t, h.Allow(), "no quota")
	})
}

func TestCloseGivesEverythingBack(t *testing.T) {
	run(t, perKey("{tokens: 1000, per: 1h}"), func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		for _, k := range []string{"a", "b", "c"} {
			require.True(t, allow(t, l, key(k), 300).Allowed)
		}
		h, err := l.Handle(key("a"))
		require.NoError(t, err)
		waiting := make(chan error)
		go func() { waiting <- l.WaitN(context.Background(), key("a"), 1000) }()
		synctest.Wait()
		require.NoError(t, l.Close(t.Context()))
		require.ErrorIs(t, <-waiting, limiter.ErrClosed)
		assert.Equal(t, 1, c.Goodbyes())
		s := c.Stats()["api/key"]
		assert.Equal(t, int64(900), s.Books.Spent)
		assert.Zero(t, s.Stock.Outstanding)
		_, err = l.Allow(t.Context(), key("a"))
		require.ErrorIs(t, err, limiter.ErrClosed)
		require.ErrorIs(t, l.Ready(t.Context()), limiter.ErrClosed)
		assert.False(t, h.Allow())
		require.NoError(t, l.Close(t.Context()), "again")
	})
}

func TestCloseWaitsNoLongerThanItsContext(t *testing.T) {
	run(t, perKey(ample), func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		allow(t, l, key("a"), 1)
		c.SetFaults(limitertest.Faults{Frozen: true})
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, l.Close(ctx), context.DeadlineExceeded)
		assert.Equal(t, 300*time.Millisecond, time.Since(began))
	})
}

func TestLaw19_CloseWaitsForNoReportThatIsStuck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := limitertest.New(t, limitertest.Options{Policy: perKey(ample)})
		l := region(t, c, func(o *limiter.Options) { o.ColdWait = -1 })
		ready(t, l)
		c.SetFaults(limitertest.Faults{Frozen: true})
		for i := range 3000 { // more than a stream's window of 64 KiB
			allow(t, l, key(strings.Repeat("k", 500)+string(rune('A'+i))), 1)
		}
		time.Sleep(250 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		began := time.Now()
		require.ErrorIs(t, l.Close(ctx), context.DeadlineExceeded)
		assert.Equal(t, 300*time.Millisecond, time.Since(began))
	})
}

func TestWithoutAPolicyThereIsNoDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := limitertest.New(t, limitertest.Options{Policy: perKey(ample)})
		c.SetFaults(limitertest.Faults{Refusing: true})
		l := region(t, c)
		time.Sleep(5 * time.Second)
		_, err := l.Allow(t.Context(), key("a"))
		require.ErrorIs(t, err, limiter.ErrNotReady)
		_, err = l.Handle(key("a"))
		require.ErrorIs(t, err, limiter.ErrNotReady)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, l.Ready(ctx), context.DeadlineExceeded)
		c.SetFaults(limitertest.Faults{})
		began := time.Now()
		ready(t, l)
		assert.LessOrEqual(t, time.Since(began), 1010*time.Millisecond, "attempts are at most a second apart")
	})
}

func TestARestartedRegionKnowsItsPolicyButHasNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "made", "if needed")
		inDir := func(o *limiter.Options) { o.DataDir = dir }
		c := limitertest.New(t, limitertest.Options{Policy: floors})
		l := region(t, c, inDir)
		ready(t, l)
		require.True(t, allow(t, l, key("a"), 1).Allowed)
		require.NoError(t, l.Close(t.Context()))

		c.SetFaults(limitertest.Faults{Refusing: true})
		l = region(t, c, inDir)
		require.NoError(t, l.Ready(t.Context()))
		d := allow(t, l, key("a"), 1)
		assert.Equal(t, limiter.NoLease, d.Reason, "it was never welcomed")
		assert.Equal(t, time.Second, d.RetryAfter, "not before there was another attempt to reach a coordinator")
		s := l.Status()
		assert.Equal(t, limitertest.Cluster, s.Cluster)
		assert.Equal(t, uint64(1), s.PolicyRevision)
		assert.False(t, s.Quotas[0].FloorOwned)
		c.SetFaults(limitertest.Faults{})
		time.Sleep(2 * time.Second)
		assert.True(t, allow(t, l, key("a"), 1).Allowed)
		require.NoError(t, l.Close(t.Context()))

		_, err := limiter.New(limiter.Options{Region: "eu", Coordinators: []string{"x:1"}, DataDir: dir, Cluster: "other"})
		require.ErrorIs(t, err, limiter.ErrOptions)
		require.ErrorContains(t, err, `"other"`)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "regional.json"), []byte("{"), 0o600))
		_, err = limiter.New(limiter.Options{Region: "eu", Coordinators: []string{"x:1"}, DataDir: dir})
		require.ErrorIs(t, err, limiter.ErrOptions)
		require.ErrorContains(t, err, "regional.json")
	})
}

func TestACoordinatorOfAnotherClusterIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := limitertest.New(t, limitertest.Options{Policy: perKey(ample)})
		var log strings.Builder
		l := region(t, c, func(o *limiter.Options) {
			o.Cluster = "mine"
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
		})
		time.Sleep(10 * time.Second)
		_, err := l.Allow(t.Context(), key("a"))
		require.ErrorIs(t, err, limiter.ErrNotReady, "its policy is not taken either")
		_ = l.Close(t.Context())
		assert.Contains(t, log.String(), `cluster \"test\"`)
		assert.Equal(t, 1, strings.Count(log.String(), "no coordinator"), "said once: %s", log.String())
	})
}

func TestLaw13_ARestartedRegionWitnessesALostHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		kept := `{"cluster": "test", "seen_history": 7, "seen_epoch": 99, "seen_revision": 1234}`
		require.NoError(t, os.WriteFile(filepath.Join(dir, "regional.json"), []byte(kept), 0o600))
		c := limitertest.New(t, limitertest.Options{Policy: perKey(ample), MayHalt: true})
		l := region(t, c, func(o *limiter.Options) { o.DataDir = dir })
		time.Sleep(2 * time.Second)
		require.Error(t, c.Halted())
		_, err := l.Allow(t.Context(), key("a"))
		require.ErrorIs(t, err, limiter.ErrNotReady, "an older policy is not adopted")
	})
}

func TestEveryAddressIsTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := limitertest.New(t, limitertest.Options{Policy: perKey(ample)})
		var tried sync.Map
		l := region(t, c, func(o *limiter.Options) {
			o.Coordinators = []string{"passthrough:///a", "passthrough:///b", "passthrough:///c"}
			o.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
				tried.Store(address, true)
				if address != "c" {
					return nil, os.ErrNotExist
				}
				return c.DialContext(ctx)
			})}
		})
		ready(t, l)
		for _, a := range []string{"a", "b", "c"} {
			_, ok := tried.Load(a)
			assert.True(t, ok, a)
		}
		assert.Equal(t, "passthrough:///c", l.Status().Coordinator)
	})
}

// TestASilentCoordinatorIsNotTheNextToBeTried: a region that lost a leader without a
// word goes on to the standby, although it knew that leader to be one.
func TestASilentCoordinatorIsNotTheNextToBeTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := limitertest.New(t, limitertest.Options{Policy: perKey(ample)})
		var mu sync.Mutex
		var tried []string
		l := region(t, c, func(o *limiter.Options) {
			o.Coordinators = []string{"passthrough:///a", "passthrough:///b"}
			o.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
				mu.Lock()
				defer mu.Unlock()
				tried = append(tried, address)
				if address != "a" {
					return nil, os.ErrNotExist
				}
				return c.DialContext(ctx)
			})}
		})
		ready(t, l)
		c.SetFaults(limitertest.Faults{Frozen: true})
		time.Sleep(4 * time.Second) // one silence, and a little
		mu.Lock()
		defer mu.Unlock()
		require.GreaterOrEqual(t, len(tried), 2)
		assert.Equal(t, []string{"a", "b"}, tried[:2])
	})
}

// TestTheLogOfAnOutageIsShort has two addresses fail in turn, each in its own
// way, and a session that ends for a new policy.
func TestTheLogOfAnOutageIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := limitertest.New(t, limitertest.Options{Policy: perKey(ample)})
		var log strings.Builder
		var up atomic.Bool
		l := region(t, c, func(o *limiter.Options) {
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			o.Coordinators = []string{"passthrough:///a", "passthrough:///b"}
			o.DialOptions = []grpc.DialOption{grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
				if !up.Load() {
					return nil, &os.PathError{Op: "dial", Path: address, Err: os.ErrNotExist}
				}
				return c.DialContext(ctx)
			})}
		})
		time.Sleep(70 * time.Second)
		up.Store(true)
		ready(t, l)
		time.Sleep(time.Second) // until the session is open
		c.SetPolicy(perKey("{tokens: 5, per: 1h}"))
		time.Sleep(2 * time.Second)
		up.Store(false)
		c.SetFaults(limitertest.Faults{Frozen: true})
		time.Sleep(10 * time.Second)
		_ = l.Close(t.Context())
		said := log.String()
		assert.Equal(t, 4, strings.Count(said, `"no coordinator"`), "at 0, 30 and 60 seconds, and in the second outage once: %s", said)
		assert.Equal(t, 1, strings.Count(said, `"lost the coordinator"`), "a new policy is no loss: %s", said)
		assert.Regexp(t, `level=INFO msg="the session ended, another is opened".*new policy`, said)
		assert.Contains(t, said, `msg="a new policy is in force"`)
	})
}

func TestAConnectionThatTakesNothingMoreHoldsUpNoDecision(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := limitertest.New(t, limitertest.Options{Policy: perKey(ample)})
		l := region(t, c, func(o *limiter.Options) { o.ColdWait = -1 })
		ready(t, l)
		c.SetFaults(limitertest.Faults{Frozen: true})
		for range 20 { // far more than a stream's window of 64 KiB
			began := time.Now()
			for i := range 1000 {
				assert.False(t, allow(t, l, key(strings.Repeat("k", 500)+string(rune('A'+i))), 1).Allowed)
			}
			assert.Zero(t, time.Since(began))
			time.Sleep(250 * time.Millisecond)
		}
		assert.False(t, l.Connected(), "the silence was noticed")
		c.SetFaults(limitertest.Faults{})
		time.Sleep(5 * time.Second)
		assert.True(t, l.Connected())
		allow(t, l, key("a"), 1)
		time.Sleep(time.Second)
		assert.True(t, allow(t, l, key("a"), 1).Allowed)
	})
}

// TestWhoWaitsForThePolicyFindsACoordinator asks for a key that nobody knows at
// the first moment at which that is possible.
func TestWhoWaitsForThePolicyFindsACoordinator(t *testing.T) {
	for range 200 {
		synctest.Test(t, func(t *testing.T) {
			l := region(t, limitertest.New(t, limitertest.Options{Policy: perKey(ample)}))
			require.NoError(t, l.Ready(t.Context()))
			require.True(t, l.Connected())
			d := allow(t, l, key("a"), 1)
			require.True(t, d.Allowed, "%+v", d)
		})
	}
}

// TestWhoWaitsForALeaseIsAnsweredWhenTheLinkIsCutOff has requests of keys that
// nobody knows yet wait for a coordinator that has fallen silent: when that is
// noticed the quota lets them pass, and they are not kept to the end of ColdWait.
func TestWhoWaitsForALeaseIsAnsweredWhenTheLinkIsCutOff(t *testing.T) {
	const text = `apiVersion: leasehold/v1
domain: api
quotas:
  - name: key
    match: {api_key: "*"}
    limit: {tokens: 100, per: 1m}
    partition: {mode: local_fallback, rate: {tokens: 10, per: 1s}, burst: 20, for: 1m}
`
	run(t, text, func(t *testing.T, c *limitertest.Coordinator, l *limiter.Limiter) {
		require.True(t, allow(t, l, key("a"), 1).Allowed)
		c.SetFaults(limitertest.Faults{Mute: true})
		for l.Link().State != "suspect" {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(500 * time.Millisecond)
		began := time.Now()
		d := allow(t, l, key("b"), 1)
		assert.Equal(t, limiter.Unreserved, d.Reason, "%+v", d)
		assert.Equal(t, "cut_off", l.Link().State)
		assert.Less(t, time.Since(began), time.Second)
	})
}
