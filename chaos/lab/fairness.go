package lab

import (
	"slices"
	"time"
)

// waterfill divides a capacity among demands by max-min fairness: nobody gets
// more than it asks for, and who gets less has as much as anybody. It shares no
// code with package reconcile, which it judges.
func waterfill(demands []float64, capacity float64) []float64 {
	order := make([]int, len(demands))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case demands[a] < demands[b]:
			return -1
		case demands[a] > demands[b]:
			return 1
		}
		return 0
	})
	shares := make([]float64, len(demands))
	for n, i := range order {
		shares[i] = max(0, min(demands[i], capacity/float64(len(order)-n)))
		capacity -= shares[i]
	}
	return shares
}

// Fairness is Jain's index (Jain, Chiu and Hawe, DEC-TR-301, 1984) of what each
// region was admitted in relation to what max-min fairness would have admitted: 1
// is fair, 1/k gives all to one. The fair share is computed for every second anew,
// from that second's demand and from what the system admitted in all: waste
// is not counted twice. Regions that asked for nothing do not count.
const Fairness = "Jain's index of admitted over max-min share"

// jain computes it for a run of requests and admissions.
func jain(k int, requests []Request, log []admission) float64 {
	const slot = time.Second
	n := 1
	if len(requests) > 0 {
		n += int(requests[len(requests)-1].At / slot)
	}
	if len(log) > 0 {
		n = max(n, 1+int(log[len(log)-1].at/slot))
	}
	asked, got := table(n, k), table(n, k)
	for i := range requests {
		asked[requests[i].At/slot][requests[i].Region] += float64(requests[i].Cost)
	}
	for i := range log {
		got[log[i].at/slot][log[i].region] += float64(log[i].cost)
	}
	fair, sum := make([]float64, k), make([]float64, k)
	for s := range asked {
		total := 0.0
		for i := range k {
			total += got[s][i]
			sum[i] += got[s][i]
		}
		for i, v := range waterfill(asked[s], total) {
			fair[i] += v
		}
	}
	var x, square, count float64
	for i := range k {
		if fair[i] > 0 {
			v := sum[i] / fair[i]
			x, square, count = x+v, square+v*v, count+1
		}
	}
	if square == 0 {
		return 1
	}
	return x * x / (count * square)
}

func table(rows, columns int) [][]float64 {
	t := make([][]float64, rows)
	for i := range t {
		t[i] = make([]float64, columns)
	}
	return t
}
