package lab

import (
	"fmt"
	"path/filepath"
	"time"
)

// Scenario is one line of the matrix: requests, a limit and a network.
type Scenario struct {
	Name  string
	K     int
	Limit Limit
	Net   Net
	// Trace makes the requests.
	Trace func(seed uint64) Trace
}

// spec is a scenario by its workload.
type spec struct {
	load string
	k    int
	rtt  time.Duration
	far  time.Duration
	loss float64
}

const ms = time.Millisecond

// matrix covers every workload at one size, and then every size, round trip and
// loss at the workloads that feel them most: a full product would be 9·5·4·3 runs
// of each system and show little more.
var matrix = []spec{
	{load: "uniform", k: 5, rtt: 100 * ms},
	{load: "zipf", k: 5, rtt: 100 * ms},
	{load: "hot 95%", k: 5, rtt: 100 * ms},
	{load: "moving hotspot", k: 5, rtt: 100 * ms},
	{load: "on/off", k: 5, rtt: 100 * ms},
	{load: "phase-shifted days", k: 5, rtt: 100 * ms},
	{load: "15-fold surge", k: 5, rtt: 100 * ms},
	{load: "flash on an idle region", k: 5, rtt: 100 * ms},
	{load: "adversarial drain", k: 5, rtt: 100 * ms},

	{load: "zipf", k: 3, rtt: 100 * ms},
	{load: "zipf", k: 10, rtt: 100 * ms},
	{load: "zipf", k: 20, rtt: 100 * ms},
	{load: "zipf", k: 490, rtt: 100 * ms},
	{load: "moving hotspot", k: 20, rtt: 100 * ms},

	{load: "moving hotspot", k: 5, rtt: 20 * ms},
	{load: "moving hotspot", k: 5, rtt: 20 * ms, far: 300 * ms},
	{load: "moving hotspot", k: 5, rtt: 300 * ms},
	{load: "uniform", k: 5, rtt: 100 * ms, loss: 0.01},
	{load: "uniform", k: 5, rtt: 300 * ms, loss: 0.05},
	{load: "moving hotspot", k: 5, rtt: 100 * ms, loss: 0.01},
	{load: "moving hotspot", k: 5, rtt: 300 * ms, loss: 0.05},
}

// quick is the slice of the matrix for continuous integration.
var quick = []int{0, 2, 3, 6, 12, 18}

// Matrix returns the scenarios of the laboratory; the quick ones are few and
// short.
func Matrix(short bool) []Scenario {
	var list []Scenario
	if !short {
		for i := range matrix {
			list = append(list, matrix[i].scenario(2*time.Minute))
		}
		return list
	}
	for _, i := range quick {
		length := 35 * time.Second
		if matrix[i].k > 100 {
			length = 10 * time.Second
		}
		list = append(list, matrix[i].scenario(length))
	}
	return list
}

// scenario makes the scenario of a workload: a thousand tokens a second, ten a
// second for each of many regions, and a burst of two seconds.
func (p *spec) scenario(length time.Duration) Scenario {
	load, _ := FindWorkload(p.load)
	rate := int64(max(1000, 10*p.k))
	s := Scenario{K: p.k, Limit: Limit{Rate: rate, Burst: 2 * rate}, Net: Net{RoundTrip: p.rtt, Spread: p.far, Loss: p.loss}}
	rtt := fmt.Sprint(p.rtt.Milliseconds())
	if p.far > 0 {
		rtt += fmt.Sprintf("-%d", p.far.Milliseconds())
	}
	s.Name = fmt.Sprintf("%s, k=%d, %s ms", p.load, p.k, rtt)
	if p.loss > 0 {
		s.Name += fmt.Sprintf(", %g%% lost", 100*p.loss)
	}
	s.Trace = func(seed uint64) Trace { return load.Draw(seed, p.k, rate, length) }
	return s
}

// FromTrace makes a scenario of a trace of real traffic: its mean rate as the
// limit, at a round trip of 100 ms. Cut is how much silence was left out of it.
func FromTrace(path string, t Trace, cut time.Duration) Scenario {
	name := fmt.Sprintf("trace %s, k=%d, 100 ms", filepath.Base(path), t.K)
	if cut > 0 {
		name += fmt.Sprintf(", without %v of silence", cut.Round(time.Second))
	}
	return Scenario{
		Name: name, K: t.K, Limit: t.limit(), Net: Net{RoundTrip: 100 * ms},
		Trace: func(uint64) Trace { return t },
	}
}

// Run has a scenario played by some models, and by the ideal first.
func (s *Scenario) Run(models []Model, seed uint64) ([]Result, error) {
	t := s.Trace(seed)
	w := newWorld(Ideal, s.K, s.Limit, Net{}, seed, t.End)
	if err := w.Play(&t); err != nil {
		return nil, err
	}
	ideal := w.admitted()
	results := make([]Result, 0, len(models))
	for _, m := range models {
		w := newWorld(m, s.K, s.Limit, s.Net, seed, t.End)
		if err := w.Play(&t); err != nil {
			return nil, fmt.Errorf("%s, %s: %w", s.Name, m.Name, err)
		}
		results = append(results, w.result(s.Name, m.Name, &t, ideal))
	}
	return results, nil
}
