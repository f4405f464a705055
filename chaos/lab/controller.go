package lab

import "time"

// controller is one place that hears every region's demand each second and sets
// every region's rate by max-min; what nobody wants is divided equally. A region
// whose message is lost keeps its rate until the next second. The controller's own
// failure is not modeled.
type controller struct {
	sharers

	demands []float64
}

const controllerInterval = time.Second

func newController(w *world) system {
	s := &controller{sharers: newSharers(w), demands: make([]float64, w.K)}
	for i := range s.regions {
		w.every(controllerInterval, w.phase(controllerInterval), func() { s.report(i) })
	}
	w.every(controllerInterval, 0, s.control)
	return s
}

func (s *controller) report(i int) {
	r := &s.regions[i]
	r.measure(s.w.now, 1)
	demand := r.demand
	s.w.traffic.Reports++
	s.w.send(i, upBytes, func() { s.demands[i] = demand })
}

func (s *controller) control() {
	rates := waterfill(s.demands, float64(s.w.Limit.Rate))
	left := float64(s.w.Limit.Rate)
	for _, r := range rates {
		left -= r
	}
	for i := range rates {
		rate := rates[i] + left/float64(s.w.K)
		s.w.traffic.Grants++
		s.w.send(i, downBytes, func() { s.set(i, rate) })
	}
}
