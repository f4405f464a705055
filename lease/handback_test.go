package lease_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// threeRegions is a quota of which each of three regions owns a tenth.
func threeRegions(rate, burst int64) lease.Terms {
	t := perMinute(rate, burst)
	for _, r := range []string{"us", "eu", "ap"} {
		t.Floors = append(t.Floors, lease.FloorTerms{Region: r, Tokens: rate / 10, Burst: burst / 10})
	}
	return t
}

func TestLaw11_AnIdleFloorOfAContendedBucketIsHandedBack(t *testing.T) {
	r := newRig(t, threeRegions(60_000, 10_000))
	for _, n := range []string{"us", "eu", "ap"} {
		r.join(n)
	}
	r.run(2 * time.Second)
	require.Equal(t, 3, r.quota().Floors)
	r.hammer(20*time.Second, "k", "us")
	n := r.hammer(time.Minute, "k", "us")
	require.GreaterOrEqual(t, n, int64(60_000*99/100), "also for a key that the other regions never saw")
	require.LessOrEqual(t, n, int64(60_000+10_000))
}

func TestLaw11_WhatWasHandedBackIsCreditedOnce(t *testing.T) {
	r := newRig(t, threeRegions(60_000, 10_000))
	r.join("us")
	r.join("eu")
	r.run(time.Minute) // eu's floor is full
	begin := r.now
	n := r.hammer(time.Second, "k", "us")
	// From now on nothing reaches eu: what it reports again and again must
	// be credited once, and counts against its burst until it is told.
	r.deaf = map[string]bool{"eu": true}
	n += r.hammer(3*time.Second, "k", "us")
	most := 10_000 + int64((r.now-begin)/time.Millisecond)
	require.LessOrEqual(t, n, most)
	for range 100 {
		n += r.drain("eu", "k") // and it may still spend its floor
		r.step(100 * time.Millisecond)
		n += r.drain("us", "k")
		most := 10_000 + int64((r.now-begin)/time.Millisecond)
		require.LessOrEqual(t, n, most)
	}
}

func TestLaw11_ARegionThatNeedsItsFloorKeepsIt(t *testing.T) {
	r := newRig(t, threeRegions(60_000, 10_000))
	r.join("us")
	r.join("eu")
	r.run(time.Minute)
	r.hammer(20*time.Second, "k", "us", "eu")
	begin := r.now
	eu := int64(0)
	for r.now < begin+time.Minute {
		r.drain("us", "k")
		eu += r.drain("eu", "k")
		r.step(20 * time.Millisecond)
	}
	require.GreaterOrEqual(t, eu, int64(6_000), "its floor is its own")
}
