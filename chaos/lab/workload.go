package lab

import (
	"math"
	"math/rand/v2"
	"time"
)

// Workload says how much each region asks for, as a multiple of the limit's
// rate, at any time after Lead.
type Workload struct {
	Name string
	// Says is what the workload is, for people.
	Says string
	// Demand is the demand of region i of k at the time t. It may draw on t and
	// i alone, so that the same seed gives the same requests.
	Demand func(i, k int, t time.Duration) float64
}

// Workloads are the patterns of demand that the laboratory plays.
var Workloads = []Workload{
	{"uniform", "all regions ask alike, 1.2 times the limit together", func(_, k int, _ time.Duration) float64 {
		return 1.2 / float64(k)
	}},
	{"zipf", "region i asks in proportion to 1/i, 1.2 times the limit together", func(i, k int, _ time.Duration) float64 {
		return 1.2 * zipf(i, k)
	}},
	{"hot 95%", "one region asks for 95% of a demand of 0.95 times the limit", func(i, k int, _ time.Duration) float64 {
		return hot(i, 0, k, 0.95, 0.95)
	}},
	{"moving hotspot", "as hot, 90% of 0.9 times the limit, and every 5 s another region", func(i, k int, t time.Duration) float64 {
		return hot(i, int(t/(5*time.Second))%k, k, 0.9, 0.9)
	}},
	{"on/off", "every region asks for one second and is silent for one, half of them in turn; 0.9 times the limit", func(i, k int, t time.Duration) float64 {
		if (int(t/time.Second)+i)%2 == 1 {
			return 0
		}
		return 0.9 / float64((k+1)/2)
	}},
	{"phase-shifted days", "days of 20 s in different time zones, 0.95 times the limit together", func(i, k int, t time.Duration) float64 {
		phase := t.Seconds()/20 - float64(i)/float64(k)
		return 0.95 / float64(k) * (1 + math.Sin(2*math.Pi*phase))
	}},
	{"15-fold surge", "0.2 times the limit, and 15 times that in one region's neighborhood from 20 s to 30 s of each minute", func(i, k int, t time.Duration) float64 {
		base := 0.2 / float64(k)
		if s := t % time.Minute; i < (k+1)/2 && s >= 20*time.Second && s < 30*time.Second {
			return 15 * base
		}
		return base
	}},
	{"flash on an idle region", "all but one ask for half of the limit; the last one is silent, and asks for 0.45 of it for 2 s of every 10", func(i, k int, t time.Duration) float64 {
		if i < k-1 {
			return 0.5 / float64(k-1)
		}
		if t%(10*time.Second) >= 8*time.Second {
			return 0.45
		}
		return 0
	}},
	{"adversarial drain", "one region after the other asks for 5 times the limit for 300 ms and then for nothing; another asks for a third all the time", func(i, k int, t time.Duration) float64 {
		switch slot := int(t / (600 * time.Millisecond)); {
		case i == 0:
			return 0.33
		case i == 1+slot%(k-1) && t%(600*time.Millisecond) < 300*time.Millisecond:
			return 5
		}
		return 0
	}},
}

// FindWorkload returns the workload of a name.
func FindWorkload(name string) (Workload, bool) {
	for _, w := range Workloads {
		if w.Name == name {
			return w, true
		}
	}
	return Workload{}, false
}

// zipf is region i's part when demand falls with 1/rank.
func zipf(i, k int) float64 {
	sum := 0.0
	for j := 1; j <= k; j++ {
		sum += 1 / float64(j)
	}
	return 1 / (float64(i+1) * sum)
}

// hot is region i's demand when one of k has a part of the load.
func hot(i, which, k int, load, part float64) float64 {
	if i == which {
		return load * part
	}
	return load * (1 - part) / float64(k-1)
}

// Draw makes the requests of a workload: Poisson arrivals of cost 1, each region
// with its own stream of random numbers.
func (w Workload) Draw(seed uint64, k int, rate int64, length time.Duration) Trace {
	const step = 10 * time.Millisecond // how often the demand is looked at
	t := Trace{K: k, End: Lead + length}
	streams := make([][]Request, k)
	for i := range k {
		dice := rand.New(rand.NewPCG(seed, uint64(i)))
		left := dice.ExpFloat64() // of the next request, in expected requests
		for at := time.Duration(0); at < length; at += step {
			expected := w.Demand(i, k, at) * float64(rate) * step.Seconds()
			for done := 0.0; ; left = dice.ExpFloat64() {
				if done += left; done > expected {
					left = done - expected
					break
				}
				streams[i] = append(streams[i], Request{At: Lead + at + time.Duration(done/expected*float64(step)), Region: i, Cost: 1})
			}
		}
	}
	t.Requests = mergeRequests(streams)
	return t
}
