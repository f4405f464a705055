package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// unbounded is the only way to be unlimited.
const unbounded = "unbounded"

// decoder turns nodes into values and collects every problem. A value with a problem is returned as its zero;
// nothing of it is used, because a file with problems is refused.
type decoder struct {
	file  string
	errs  Errors
	zones map[string]*time.Location
}

func (d *decoder) errorf(n *node, path, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if path != "" {
		message = path + ": " + message
	}
	d.errs = append(d.errs, &Error{d.file, n.line, n.column, message})
}

// word names the value i of an enumeration.
func word(words []string, i int) string {
	if i < len(words) {
		return words[i]
	}
	return fmt.Sprintf("unknown(%d)", i)
}

// tokens reads a count of tokens, which is never 0.
func (d *decoder) tokens(n *node, path, or string) int64 {
	return d.integer(n, path, 1, bucket.MaxTokens, or)
}

// integer reads a whole number in decimal digits, with single underscores between them if that is clearer. It
// is not quoted, and no sign, leading zero or exponent is taken for something else.
func (d *decoder) integer(n *node, path string, least, most int64, or string) int64 {
	if n == nil {
		return 0
	}
	if n.kind == typed {
		digits := strings.ReplaceAll(n.text, "_", "")
		tidy := !strings.HasPrefix(n.text, "_") && !strings.HasSuffix(n.text, "_") && !strings.Contains(n.text, "__")
		v, err := strconv.ParseInt(digits, 10, 64)
		if err == nil && tidy && strconv.FormatInt(v, 10) == digits && least <= v && v <= most {
			return v
		}
	}
	d.errorf(n, path, "must be a whole number from %d to %d%s, not %s", least, most, or, n)
	return 0
}

// duration reads a Go duration such as 90s or 1h30m.
func (d *decoder) duration(n *node, path string, least, most time.Duration) time.Duration {
	if n == nil {
		return 0
	}
	v, err := time.ParseDuration(n.text)
	switch {
	case n.isText() && err == nil && least <= v && v <= most:
		return v
	case n.kind == typed && err != nil:
		d.errorf(n, path, "must have a unit, such as %ss, not %s", n.text, n)
	default:
		d.errorf(n, path, "must be a duration from %v to %v, not %s", least, most, n)
	}
	return 0
}

// text reads a string.
func (d *decoder) text(n *node, path string) string {
	if n == nil {
		return ""
	}
	if !n.isText() {
		why := ""
		if n.kind == typed {
			why = ": put it in quotes"
		}
		d.errorf(n, path, "must be a string, not %s%s", n, why)
		return ""
	}
	return n.text
}

// maxName is the longest name of anything, in bytes. Names are ASCII and hold no slash, so that an ID has one
// meaning and a name can stand in a metric label, a path and a log line as it is.
const maxName = 64

// name reads the name of something.
func (d *decoder) name(n *node, path string) string {
	s := d.text(n, path)
	if n != nil && n.isText() && !isName(s) {
		d.errorf(n, path, "must be 1 to %d of the characters a-z A-Z 0-9 _ . -, not %s", maxName, n)
	}
	return s
}

func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return 0 < len(s) && len(s) <= maxName
}

// String shows a node in an error.
func (n *node) String() string {
	switch {
	case n.kind == null:
		return "null"
	case n.kind == mapping:
		return "a mapping"
	case n.kind == list:
		return "a list"
	case n.kind == typed, n.kind == plain && !strings.ContainsAny(n.text, " \"\\"):
		return shorten(n.text)
	case n.text == "":
		return "an empty string"
	}
	return quote(n.text)
}

func quote(s string) string { return strconv.Quote(shorten(s)) }

func shorten(s string) string {
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "..."
	}
	return s
}
