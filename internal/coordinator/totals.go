package coordinator

// Totals are the tokens of all quotas together, as of the last look.
type Totals struct {
	Outstanding int64 // leased and, as far as it is reported, not spent
	Stranded    int64 // of these, with holders that have no session
}

// Totals sums up all quotas, for who runs a coordinator in its own process. It
// returns false when this one does not lead, or does not serve yet.
func (s *Server) Totals() (Totals, bool) {
	_, v, leads := s.current()
	if !leads || !v.booted {
		return Totals{}, false
	}
	var sum Totals
	for i := range v.quotas {
		sum.Outstanding += v.quotas[i].Stock.Outstanding
		sum.Stranded += v.quotas[i].Stranded
	}
	return sum, true
}
