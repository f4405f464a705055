package trace

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// Summary is what must be known of a trace before it is played.
type Summary struct {
	Requests int64
	Tokens   int64
	Length   time.Duration // from the first request to the last
	Regions  []string      // by name
}

// maxRegions is how many regions one process plays.
const maxRegions = 16

// Summarize reads a whole trace, and so finds whatever is wrong with it.
func Summarize(file string) (Summary, error) {
	var s Summary
	err := Each(file, func(r Request) error {
		s.Requests++
		if s.Tokens += r.Cost; s.Tokens < 0 {
			return fmt.Errorf("%s: all costs together are above 2^63", file)
		}
		s.Length = r.At
		if i, found := slices.BinarySearch(s.Regions, r.Region); !found {
			s.Regions = slices.Insert(s.Regions, i, r.Region)
		}
		if len(s.Regions) > maxRegions {
			return fmt.Errorf("%s: names more than %d regions", file, maxRegions)
		}
		return nil
	})
	if err == nil && s.Requests == 0 {
		err = &Error{File: file, Line: 2, Text: "holds no request"}
	}
	return s, err
}

// Each reads a trace and hands over its requests in order, until one is refused.
func Each(file string, take func(Request) error) (err error) {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t, err := NewReader(file, f)
	if err != nil {
		return err
	}
	for {
		r, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := take(r); err != nil {
			return err
		}
	}
}
