package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// absent stands where there is no figure.
const absent = "–"

// signed writes a count with commas and with its sign.
func signed(n int64) string {
	if n > 0 {
		return "+" + comma(n)
	}
	return comma(n)
}

// comma writes a count with commas and with a real minus sign.
func comma(n int64) string { return strings.Replace(humanize.Comma(n), "-", "−", 1) }

// count writes a figure that may be missing.
func count(n *int64) string {
	if n == nil {
		return absent
	}
	return comma(*n)
}

// rate writes tokens or requests a second.
func rate(perSecond float64) string {
	switch {
	case math.IsNaN(perSecond) || math.IsInf(perSecond, 0):
		return absent
	case perSecond > 0 && perSecond < 9.95:
		return strconv.FormatFloat(perSecond, 'f', 1, 64)
	}
	return comma(int64(math.Round(perSecond)))
}

// seconds writes a duration with three digits: 85 µs, 1.25 ms, 14.2 s, 12 min 5 s.
func seconds(s float64) string {
	if math.IsNaN(s) || math.Abs(s) > 1e9 { // thirty years are no duration of a drill
		return absent
	}
	d := time.Duration(math.Round(s * float64(time.Second)))
	if d < 0 {
		return "-" + seconds(-s)
	}
	switch {
	case d == 0:
		return "0 s"
	case d >= 59950*time.Millisecond:
		d = d.Round(time.Second)
		if rest := d % time.Minute; rest > 0 {
			return fmt.Sprintf("%d min %d s", d/time.Minute, rest/time.Second)
		}
		return fmt.Sprintf("%d min", d/time.Minute)
	case d >= 999500*time.Microsecond:
		return digits(float64(d)/float64(time.Second)) + " s"
	case d >= 999500*time.Nanosecond:
		return digits(float64(d)/float64(time.Millisecond)) + " ms"
	}
	return digits(float64(d)/float64(time.Microsecond)) + " µs"
}

// digits writes a number of 0 or more with three digits, without zeros at the end.
func digits(x float64) string {
	decimals := 2
	switch {
	case x >= 99.95:
		decimals = 0
	case x >= 9.995:
		decimals = 1
	}
	s := strconv.FormatFloat(x, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// clock writes a moment of the run, as seconds with a tenth.
func clock(s float64) string { return strconv.FormatFloat(s, 'f', 1, 64) + " s" }

// share writes a part of a whole in percent, never rounded up to all of it nor
// down to nothing.
func share(part float64) string {
	p := part * 100
	switch {
	case math.IsNaN(p) || math.IsInf(p, 0):
		return absent
	case p > 0 && p < 0.1:
		return "< 0.1%"
	case p < 100 && p > 99.9:
		return "> 99.9%"
	}
	return strconv.FormatFloat(math.Round(p*10)/10, 'f', -1, 64) + "%"
}

// plural writes a count and its noun.
func plural(n int64, noun string) string {
	if n == 1 || n == -1 {
		return comma(n) + " " + noun
	}
	return comma(n) + " " + noun + "s"
}

// plain makes text from a scenario or a log harmless on a terminal, and one line:
// what cannot be printed becomes a question mark.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case r == utf8.RuneError || !unicode.IsPrint(r):
			return '?'
		}
		return r
	}, s)
}
