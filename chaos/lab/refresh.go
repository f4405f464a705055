package lab

import "time"

// refresh models a central server that leases rates, like Doorman with its
// algorithm PROPORTIONAL_SHARE: every client says every 5 s what it wants and is
// given a rate for 300 s. Everybody may have an equal share; what some leave of
// theirs goes to those who want more, in proportion to what they want; and never is
// more leased than there is, so that who wants more waits until others refreshed.
//
// A client wants what it was asked for since its last refresh; it begins with its
// equal share. Trees of servers, priorities, learning mode and safe capacities
// are not modeled, nor is a client's own waiting for its turn: it denies.
type refresh struct {
	sharers

	leases []rateLease
}

// rateLease is what the server knows of a client.
type rateLease struct {
	wants, has float64
	until      time.Duration
}

const (
	refreshInterval = 5 * time.Second
	refreshLease    = 300 * time.Second
)

func newRefresh(w *world) system {
	s := &refresh{sharers: newSharers(w), leases: make([]rateLease, w.K)}
	for i := range s.leases {
		s.leases[i] = rateLease{wants: s.regions[i].rate, has: s.regions[i].rate, until: refreshLease}
		w.every(refreshInterval, w.phase(refreshInterval), func() { s.renew(i) })
	}
	return s
}

// renew is a client's refresh.
func (s *refresh) renew(i int) {
	r := &s.regions[i]
	r.measure(s.w.now, 1)
	wants := r.demand
	s.w.traffic.Reports++
	s.w.send(i, upBytes, func() {
		s.leases[i].wants, s.leases[i].until = wants, s.w.now+refreshLease
		gets := s.gets(i)
		s.leases[i].has = gets
		s.w.traffic.Grants++
		s.w.send(i, downBytes, func() { s.set(i, gets) })
	})
}

// gets is the server's answer to one client.
func (s *refresh) gets(i int) float64 {
	capacity := float64(s.w.Limit.Rate)
	equal := capacity / float64(s.w.K)
	var leased, spare, lacking float64
	for j := range s.leases {
		l := &s.leases[j]
		if s.w.now >= l.until {
			l.wants, l.has = 0, 0
		}
		if j != i {
			leased += l.has
		}
		spare += max(0, equal-l.wants)
		lacking += max(0, l.wants-equal)
	}
	gets := s.leases[i].wants
	if more := gets - equal; more > 0 {
		gets = equal + more*min(1, spare/lacking)
	}
	return max(0, min(gets, capacity-leased))
}
