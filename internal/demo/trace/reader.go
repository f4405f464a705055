package trace

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Request is one line of a trace.
type Request struct {
	At     time.Duration // since the trace's first request
	Region string
	Key    string
	Cost   int64
}

// Error is what is wrong with a line of a trace.
type Error struct {
	File string
	Line int
	Text string
}

// Error returns "file:line: text".
func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }

const (
	maxCost   = 1 << 53
	maxKey    = 1024
	maxRegion = 64
	// maxMillis is about a century: a trace may begin at any time that is
	// written in milliseconds since 1970.
	maxMillis = 1 << 42
)

var columns = []string{"time_ms", "region", "key", "cost"}

// Reader reads a trace request by request.
type Reader struct {
	file  string
	csv   *csv.Reader
	first int64 // the first time_ms
	last  int64
	some  bool
}

// NewReader reads the header. The file's name is for errors.
func NewReader(file string, r io.Reader) (*Reader, error) {
	c := csv.NewReader(&withoutMark{from: r})
	c.FieldsPerRecord = -1 // counted here, for a better error
	c.ReuseRecord = true
	t := &Reader{file: file, csv: c}
	header, err := t.line()
	if errors.Is(err, io.EOF) {
		return nil, t.fail(1, "is empty: the first line must be %s", strings.Join(columns, ","))
	}
	if err != nil {
		return nil, err
	}
	if !slices.Equal(header, columns) {
		return nil, t.fail(1, "the first line must be %s, not %s", strings.Join(columns, ","), quote(strings.Join(header, ",")))
	}
	return t, nil
}

// Next returns the next request, and io.EOF after the last.
func (t *Reader) Next() (Request, error) {
	fields, err := t.line()
	if err != nil {
		return Request{}, err
	}
	line, _ := t.csv.FieldPos(0)
	if len(fields) != len(columns) {
		return Request{}, t.fail(line, "has %d fields; expected %d: %s", len(fields), len(columns), strings.Join(columns, ","))
	}
	at, err := t.integer(line, "time_ms", fields[0], maxMillis)
	if err != nil {
		return Request{}, err
	}
	if !t.some {
		t.first, t.last, t.some = at, at, true
	}
	if at < t.last {
		return Request{}, t.fail(line, "time_ms %d is before the %d of the line above: a trace is in the order of time", at, t.last)
	}
	t.last = at
	cost, err := t.integer(line, "cost", fields[3], maxCost)
	if err != nil {
		return Request{}, err
	}
	region, key := fields[1], fields[2]
	if !isName(region) {
		return Request{}, t.fail(line, "region %s must be 1 to %d of a-z, A-Z, 0-9, _, . and -", quote(region), maxRegion)
	}
	if key == "" || len(key) > maxKey {
		return Request{}, t.fail(line, "key has %d bytes; it must have 1 to %d", len(key), maxKey)
	}
	return Request{
		At:     time.Duration(at-t.first) * time.Millisecond,
		Region: strings.Clone(region), Key: strings.Clone(key), Cost: cost,
	}, nil
}

// line reads a line into fields.
func (t *Reader) line() ([]string, error) {
	fields, err := t.csv.Read()
	var syntax *csv.ParseError
	switch {
	case errors.As(err, &syntax):
		return nil, t.fail(syntax.Line, "is no CSV: %v", syntax.Err)
	case err != nil && !errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s: %w", t.file, err)
	}
	return fields, err
}

func (t *Reader) integer(line int, name, text string, most int64) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || n > most || text != strconv.FormatInt(n, 10) {
		return 0, t.fail(line, "%s %s must be an integer from 0 to %d", name, quote(text), most)
	}
	return n, nil
}

func (t *Reader) fail(line int, format string, args ...any) error {
	return &Error{File: t.file, Line: line, Text: fmt.Sprintf(format, args...)}
}

// quote shows a text from a file, which may be long or not text at all.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		cut := most
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut] + "..."
	}
	return strconv.Quote(s)
}

func isName(s string) bool {
	if s == "" || len(s) > maxRegion {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return false
		}
	}
	return true
}

// withoutMark drops the byte order mark with which some programs begin a text.
type withoutMark struct {
	from  io.Reader
	begun bool
}

func (w *withoutMark) Read(b []byte) (int, error) {
	if w.begun || len(b) < 3 {
		return w.from.Read(b)
	}
	w.begun = true
	n, err := io.ReadFull(w.from, b[:3])
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	if n == 3 && bytes.Equal(b[:3], []byte("\xef\xbb\xbf")) {
		return w.from.Read(b)
	}
	return n, err
}
