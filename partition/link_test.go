package partition_test

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/a1009580/leasehold/partition"
)

const ms = time.Millisecond

func TestTimingIsValidated(t *testing.T) {
	good := partition.DefaultTiming()
	require.NoError(t, good.Validate())
	for bad, want := range map[partition.Timing]string{
		{}:                                  "suspect 0s: must be above 0",
		{Suspect: 2, CutOff: 2}:             "cut off 2ns: must be above the 2ns of suspect",
		{Suspect: 2, CutOff: 3}:             "settle 0s: must be above 0",
		{Suspect: -1, CutOff: 3, Settle: 1}: "suspect -1ns: must be above 0",
	} {
		_, err := partition.NewLink(bad, 0)
		require.ErrorIs(t, err, partition.ErrTiming)
		require.ErrorContains(t, err, want)
	}
}

func TestTheZeroLinkNeverConnectedAndHasTheDefaultTiming(t *testing.T) {
	var zero partition.Link
	made, err := partition.NewLink(partition.DefaultTiming(), 0)
	require.NoError(t, err)
	for _, l := range []*partition.Link{&zero, &made} {
		l.Tick(time.Hour)
		require.Equal(t, partition.NeverConnected, l.State())
		require.False(t, l.Unreserved(), "a process that was never welcomed has no fallback")
		l.Broken(time.Hour, "")
		require.Equal(t, "the stream broke: no reason given", l.Reason())
		l.Proof(time.Hour)
		l.Tick(time.Hour + 2999*ms)
		require.Equal(t, partition.Suspect, l.State())
		l.Tick(time.Hour + 3000*ms)
		require.Equal(t, partition.CutOff, l.State())
	}
	require.Equal(t, "unknown", partition.State(99).String())
}

// play feeds a link with a script and writes down what it became. Each line is a time and an input; a line
// that begins with # is repeated.
func play(t *testing.T, script string) string {
	t.Helper()
	var l partition.Link
	var b strings.Builder
	for s := bufio.NewScanner(strings.NewReader(script)); s.Scan(); {
		line := s.Text()
		at, input, _ := strings.Cut(line, " ")
		if at == "" || at == "#" {
			b.WriteString(line + "\n")
			continue
		}
		now, err := time.ParseDuration(at)
		require.NoError(t, err, line)
		input, why, _ := strings.Cut(input, ": ")
		switch input {
		case "opened":
			l.Opened(now)
		case "proof":
			l.Proof(now)
		case "heard":
			l.Heard(now)
		case "broken":
			l.Broken(now, why)
		case "tick":
			l.Tick(now)
		default:
			t.Fatalf("no such input: %s", line)
		}
		fmt.Fprintf(&b, "%-42s | %v since %v", line, l.State(), l.Since())
		if n, since, open := l.Cut(); open {
			fmt.Fprintf(&b, ", cut %d since %v", n, since)
		}
		if l.Unreserved() {
			b.WriteString(", unreserved")
		}
		b.WriteString(": " + l.Reason() + "\n")
	}
	return b.String()
}

type driven struct {
	*rapid.T
	l   partition.Link
	now time.Duration
}

// input draws something that happens a while later, by a clock that may run back.
func (d *driven) input() string {
	d.now += time.Duration(rapid.OneOf(rapid.Int64Range(0, 2500), rapid.Int64Range(-2000, 12000)).Draw(d.T, "later")) * ms
	what := rapid.SampledFrom([]string{"opened", "proof", "proof", "heard", "broken", "tick"}).Draw(d.T, "input")
	feed(&d.l, what, d.now)
	return what
}

func feed(l *partition.Link, what string, now time.Duration) {
	switch what {
	case "opened":
		l.Opened(now)
	case "proof":
		l.Proof(now)
	case "heard":
		l.Heard(now)
	case "broken":
		l.Broken(now, "EOF")
	default:
		l.Tick(now)
	}
}

// Whatever happens, in whatever order and by whatever clock: only known steps are taken, a cut is numbered and dated
// once and goes on exactly while the link is cut off or heals, and unreserved tokens are spent within one alone.
func TestLinkTakesOnlyKnownSteps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := driven{T: t}
		proofs := false
		for range rapid.IntRange(1, 60).Draw(t, "inputs") {
			before := d.l
			what := d.input()
			proofs = proofs || what == "proof"
			number, since, open := d.l.Cut()
			was, wasSince, wasOpen := before.Cut()
			s := d.l.State()
			last, proved := d.l.LastProof()
			switch {
			case (s == partition.NeverConnected) == proofs, proved != proofs:
				t.Fatal("connected is what a proof came for, and nothing else")
			case open != (s == partition.CutOff || s == partition.Healing), d.l.Unreserved() != (s == partition.CutOff):
				t.Fatal("a cut is cut off or heals; unreserved is cut off")
			case number == was && since != wasSince, number > was+1, number < was, !wasOpen && open && number == was:
				t.Fatal("a cut begins once, and the next has the next number")
			case what == "proof" && (s == partition.CutOff || s == partition.Suspect || s == partition.NeverConnected):
				t.Fatal("a proof ends all suspicion")
			case s != before.State() && before.Transitions() == d.l.Transitions(), d.l.Since() < before.Since():
				t.Fatal("a change is counted and dated")
			case last < 0 && !proved, d.l.Reason() == "", s.String() == "unknown":
				t.Fatal("there are words for everything")
			}
		}
	})
}

// A link whose proofs come in time is never cut off, whatever else happens, and never suspect unless its stream
// breaks.
func TestProofsInTimeKeepALink(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timing := partition.DefaultTiming()
		l, err := partition.NewLink(timing, 0)
		require.NoError(t, err)
		l.Proof(0)
		now, last, broken := time.Duration(0), time.Duration(0), false
		for range rapid.IntRange(1, 60).Draw(t, "inputs") {
			now += time.Duration(rapid.Int64Range(0, int64(timing.Suspect-1)-int64(now-last)).Draw(t, "later"))
			what := rapid.SampledFrom([]string{"opened", "proof", "heard", "broken", "tick"}).Draw(t, "input")
			feed(&l, what, now)
			if what == "proof" {
				last, broken = now, false
			}
			broken = broken || what == "broken"
			if want := map[bool]partition.State{false: partition.Connected, true: partition.Suspect}[broken]; l.State() != want {
				t.Fatalf("%v at %v, want %v", l.State(), now, want)
			}
			if rapid.Bool().Draw(t, "answered") {
				now = max(now, last+timing.Suspect-1)
				feed(&l, "proof", now)
				last, broken = now, false
			}
		}
	})
}

// However a link flaps, its cuts begin more than Settle apart, and by what CutOff is longer than Suspect.
func TestFlappingMakesAtMostOneCutForEachSettle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timing := partition.Timing{Suspect: time.Second, CutOff: 1500 * ms, Settle: time.Duration(rapid.Int64Range(1, 10_000).Draw(t, "settle")) * ms}
		l, err := partition.NewLink(timing, 0)
		require.NoError(t, err)
		up := time.Duration(rapid.Int64Range(0, 8000).Draw(t, "up")) * ms
		down := time.Duration(rapid.Int64Range(1, 8000).Draw(t, "down")) * ms
		breaks := rapid.Bool().Draw(t, "breaks")
		var began []time.Duration
		for now, seen := time.Duration(0), uint64(0); now < 5*time.Minute; now += 50 * ms {
			phase := now % (up + down)
			switch {
			case phase <= up:
				l.Proof(now)
			case breaks && phase <= up+50*ms:
				l.Broken(now, "EOF")
			default:
				l.Tick(now)
			}
			if n, since, _ := l.Cut(); n > seen {
				began, seen = append(began, since), n
			}
		}
		for i := 1; i < len(began); i++ {
			require.Greater(t, began[i]-began[i-1], timing.Settle+timing.CutOff-timing.Suspect)
		}
		if up > timing.Settle+100*ms && down > timing.CutOff+100*ms {
			require.Greater(t, len(began), 1, "what is good for long enough is another cut")
		}
		if up < timing.Settle-timing.Suspect && down >= timing.Suspect {
			require.LessOrEqual(t, len(began), 1, "what never settles stays in one cut")
		}
	})
}

// More ticks change no state, only when a change is noticed. The number of cuts is the same, too.
func TestTicksBetweenChangeNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := driven{T: t}
		twin := d.l
		for range rapid.IntRange(1, 60).Draw(t, "inputs") {
			before := d.now
			what := d.input()
			for at := before; at < d.now; at += 100 * ms {
				twin.Tick(at)
			}
			feed(&twin, what, d.now)
			a, _, _ := d.l.Cut()
			b, _, _ := twin.Cut()
			if d.l.State() != twin.State() || a != b {
				t.Fatalf("at %v: %v and cut %d with ticks, %v and cut %d without", d.now, twin.State(), b, d.l.State(), a)
			}
		}
	})
}

// Nothing happens by itself before Next, and something does then.
func TestNextIsWhenSomethingHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := driven{T: t}
		for range rapid.IntRange(1, 40).Draw(t, "inputs") {
			d.input()
		}
		next, ok := d.l.Next()
		if !ok {
			l := d.l
			l.Tick(d.now + 1000*time.Hour)
			require.Equal(t, d.l.State(), l.State())
			return
		}
		early, due := d.l, d.l
		early.Tick(next - 1)
		due.Tick(next)
		require.Equal(t, d.l.State(), early.State())
		require.NotEqual(t, d.l.State(), due.State())
	})
}

// A copy goes on by itself, and == tells links apart.
func TestLinksAreValues(t *testing.T) {
	var a partition.Link
	a.Proof(1)
	b := a
	require.True(t, a == b) //nolint:testifylint // it is the operator that is tested
	b.Tick(time.Minute)
	require.Equal(t, partition.Connected, a.State())
	require.False(t, a == b) //nolint:testifylint // as above
}

// A cut that is over lasted until the answer with which it healed, without the time that it took to be sure of it.
func TestACutThatIsOverTellsHowLongItLasted(t *testing.T) {
	var l partition.Link
	l.Proof(0)
	require.Zero(t, l.Lasted(), "there was none")
	l.Tick(3 * time.Second)
	l.Tick(10 * time.Second)
	require.Equal(t, 7*time.Second, l.Lasted(), "so far")
	l.Proof(13 * time.Second)
	l.Broken(14*time.Second, "EOF")
	l.Proof(23 * time.Second)
	for at := 23 * time.Second; at <= 29*time.Second; at += time.Second {
		l.Proof(at)
	}
	require.Equal(t, partition.Connected, l.State())
	require.Equal(t, 20*time.Second, l.Lasted(), "from 3 s to 23 s, since it flapped between")
}
