package judge

// WindowStream judges a window quota while admissions come in. It is told the
// windows by number, since whose windows follow a calendar are the judge's to
// believe and not to compute: numbers grow with time, that is all.
//
// It keeps the sums of the two newest windows, which is enough when an admission
// arrives less than a window after it was decided. It must not be used
// concurrently.
type WindowStream struct {
	tokens int64
	sums   [2]windowSum // the newer one first
	worst  Finding
}

type windowSum struct {
	number int64
	tokens int64
	some   bool
}

// NewWindowStream returns a judge of the promise that no window admits more than
// tokens.
func NewWindowStream(tokens int64) *WindowStream {
	return &WindowStream{tokens: tokens, worst: Finding{Over: -tokens}}
}

// Add notes an admission that was sent in one window and received in another, or
// in the same: only then it is surely of it.
func (s *WindowStream) Add(sent, received, cost int64) {
	if sent != received {
		return
	}
	if !s.sums[0].some || sent > s.sums[0].number {
		s.sums[1] = s.sums[0]
		s.sums[0] = windowSum{number: sent, some: true}
	}
	for i := range s.sums {
		w := &s.sums[i]
		if !w.some || w.number != sent {
			continue
		}
		w.tokens += cost
		if over := w.tokens - s.tokens; over > s.worst.Over {
			s.worst = Finding{Admitted: w.tokens, Over: over}
		}
	}
}

// Worst returns the finding over all that was added so far, without the times.
func (s *WindowStream) Worst() Finding { return s.worst }
