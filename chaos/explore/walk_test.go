package explore

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// exact is everything in a world, statistics included.
func exact(w *World) (all [][]byte) {
	for i, l := range w.leaders {
		f := lease.Frame{Now: w.moment(int8(i)), Holder: w.clockOf}
		all = append(all, l.ledger.AppendState(nil, f))
	}
	for i, p := range w.holders {
		f := w.holderFrame(int8(i))
		f.Plain = false
		all = append(all, p.h.AppendState(nil, f))
	}
	x := hasher{}
	h := x.Hash(w)
	return append(all, h[:])
}

// Trying every future of a world changes nothing in it, and a world that was
// copied at every step is the same as one that never was.
func TestWorldsShareNothingThatChanges(t *testing.T) {
	for _, s := range Scenes() {
		for seed := range uint64(walks / 10) {
			r := rand.New(rand.NewPCG(seed, 1))
			w, twin := s.Start(), s.Start()
			for range 60 {
				enabled := w.Enabled(nil)
				if len(enabled) == 0 {
					break
				}
				before := exact(w)
				for _, a := range enabled {
					w.After(a)
				}
				require.Equal(t, before, exact(w))
				a := enabled[r.IntN(len(enabled))]
				w = w.After(a)
				twin.ownHolders, twin.ownLeaders, twin.ownStore = 255, 255, true
				twin.do(a)
				for _, l := range twin.leaders {
					l.sum = sum{}
				}
				for _, p := range twin.holders {
					p.sum = sum{}
				}
				twin.store.sum = sum{}
				require.Equal(t, exact(w), exact(twin), "%s, seed %d", s.Name, seed)
				require.NoError(t, w.Check(), "%s, seed %d", s.Name, seed)
			}
		}
	}
}

// What a plain frame takes for one state does the same from there on: the hash
// of a state and an action give the hash of the next one.
func TestHashesTellApartWhatDiffers(t *testing.T) {
	for _, s := range Scenes() {
		x := hasher{}
		next := map[Hash]map[Hash]string{}
		again := 0
		for seed := range uint64(walks) {
			r := rand.New(rand.NewPCG(seed, 2))
			w := s.Start()
			for range 25 {
				enabled := w.Enabled(nil)
				if len(enabled) == 0 {
					break
				}
				all := map[Hash]string{}
				for _, a := range enabled {
					all[x.Hash(w.After(a))] = s.words(w, a)
				}
				h := x.Hash(w)
				if old, ok := next[h]; ok {
					again++
					sameKeys(t, s.Name, old, all)
				}
				next[h] = all
				w = w.After(enabled[r.IntN(len(enabled))])
			}
		}
		require.Greater(t, again, walks/2, s.Name)
	}
}

func sameKeys(t *testing.T, scene string, a, b map[Hash]string) {
	t.Helper()
	for h, words := range a {
		if _, ok := b[h]; !ok {
			t.Errorf("%s: one of two states that look alike leads elsewhere when %s", scene, words)
		}
	}
}
