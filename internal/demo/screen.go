package demo

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// screen shows the figures once a second: as a table that is drawn over itself
// on a terminal, else as one line each time.
type screen struct {
	out      io.Writer
	terminal bool
	last     map[string]count
	at       time.Duration

	mu     sync.Mutex // guards what follows, and writing
	drawn  int        // lines of the table that is there
	failed bool       // nobody reads any more
}

// snapshot is what is shown.
type snapshot struct {
	at      time.Duration // since the traffic began
	regions []placeView
	total   count
	figures figures
}

// placeView is one region in a snapshot.
type placeView struct {
	name      string
	count     count
	leased    int64
	connected bool
}

// ANSI sequences that every terminal knows.
const (
	hideCursor = "\x1b[?25l"
	showCursor = "\x1b[?25h"
	clearBelow = "\x1b[J"
)

func newScreen(out io.Writer, terminal bool) *screen {
	s := &screen{out: out, terminal: terminal, last: map[string]count{}}
	if terminal {
		s.say(hideCursor)
	}
	return s
}

// say writes a text below whatever is there.
func (s *screen) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn = 0
	s.write(fmt.Sprintf(format, args...))
}

// Write takes a line of the log: it goes where the table is, which moves down.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.write(s.over() + string(b))
	s.drawn = 0
	return len(b), nil
}

// over goes back to the first line of the table. The caller holds mu.
func (s *screen) over() string {
	if s.drawn == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\r%s", s.drawn, clearBelow)
}

// write is the only place that writes. The caller holds mu.
func (s *screen) write(text string) {
	if _, err := io.WriteString(s.out, text); err != nil {
		s.failed = true
	}
}

// broken says that nobody reads what is shown, such as the end of a pipe.
func (s *screen) broken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// restore leaves the terminal as it was found.
func (s *screen) restore() {
	if s.terminal {
		s.say(showCursor)
	}
}

// show shows a snapshot.
func (s *screen) show(v snapshot) {
	passed := max(v.at-s.at, time.Millisecond)
	s.mu.Lock()
	if s.terminal {
		text := s.table(v, passed)
		s.write(s.over() + text)
		s.drawn = strings.Count(text, "\n")
	} else {
		s.write(s.line(v))
	}
	s.mu.Unlock()
	for _, r := range v.regions {
		s.last[r.name] = r.count
	}
	s.at = v.at
}

// line is a snapshot as one line; admitted and denied are those since the last.
func (s *screen) line(v snapshot) string {
	var b strings.Builder
	fmt.Fprintf(&b, "t=%s", duration(v.at.Seconds()))
	for _, r := range v.regions {
		last := s.last[r.name]
		fmt.Fprintf(&b, "  %s admitted=%d denied=%d", r.name, r.count.Admitted-last.Admitted, r.count.Denied-last.Denied)
		if r.count.Failed > last.Failed {
			fmt.Fprintf(&b, " failed=%d", r.count.Failed-last.Failed)
		}
		if !r.connected {
			b.WriteString(" cut-off")
		}
	}
	f := v.figures
	fmt.Fprintf(&b, "  leased=%d stranded=%d bound=%s observed=%d margin=%s\n",
		f.leased, f.stranded, f.boundText(), max(0, f.over), f.marginText())
	return b.String()
}

// table is a snapshot as a table over the last one.
func (s *screen) table(v snapshot, passed time.Duration) string {
	var b strings.Builder
	const row = "  %-8s %12s %12s %12s %12s %12s\n"
	fmt.Fprintf(&b, row, "region", "admitted/s", "denied/s", "admitted", "denied", "leased")
	a, d := 0.0, 0.0
	for _, r := range v.regions {
		last := s.last[r.name]
		admitted := float64(r.count.Admitted-last.Admitted) / passed.Seconds()
		denied := float64(r.count.Denied-last.Denied) / passed.Seconds()
		a, d = a+admitted, d+denied
		leased := number(r.leased)
		if !r.connected {
			leased = "cut off"
		}
		fmt.Fprintf(&b, row, r.name, number(int64(admitted+0.5)), number(int64(denied+0.5)),
			number(r.count.Admitted), number(r.count.Denied), leased)
	}
	f := v.figures
	fmt.Fprintf(&b, row, "all", number(int64(a+0.5)), number(int64(d+0.5)), number(v.total.Admitted), number(v.total.Denied), number(f.leased))
	fmt.Fprintf(&b, "\n  %s   stranded %s   overshoot: bound %s, observed %s, margin %s\n",
		duration(v.at.Seconds()), number(f.stranded), f.boundText(), number(max(0, f.over)), f.marginText())
	return b.String()
}
