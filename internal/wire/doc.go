// Package wire translates between the messages of package lease and those of
// api/leasehold/v1 that travel.
//
// From functions cannot fail. To functions are the border that everything from
// the network crosses: what they return keeps every bound that one message can
// be held to by itself, and an error names the field that does not. Whether a
// message fits a session is the Ledger's and the Holder's to decide.
//
// The package is pure.
package wire

import (
	"errors"
	"fmt"
	"time"

	"github.com/a1009580/leasehold/lease"
)

// ErrInvalid says that a message is malformed: it never came from a peer that
// follows the protocol.
var ErrInvalid = errors.New("malformed message")

// Bounds of what a message may hold, beside those of package lease.
const (
	// MaxMessageBytes is the most bytes of one message, encoded.
	MaxMessageBytes = 4 << 20

	maxName       = 256 // bytes of a cluster's, a region's, a node's or a quota's name
	maxFloors     = 100_000
	maxDrift      = 100_000
	incarnation   = 16
	maxInterval   = time.Hour
	leastInterval = time.Millisecond
)

// invalid is the one way to say that a field is wrong.
func invalid(field, format string, args ...any) error {
	return fmt.Errorf("%w: %s: %s", ErrInvalid, field, fmt.Sprintf(format, args...))
}

// within names the part of a message in which an error was found.
func within(err error, part string, i int) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s[%d]: %w", part, i, err)
}

// amount is a field that must not be negative.
type amount struct {
	field string
	value int64
}

// natural checks that no amount is negative.
func natural(amounts ...amount) error {
	for _, a := range amounts {
		if a.value < 0 {
			return invalid(a.field, "%d is negative", a.value)
		}
	}
	return nil
}

// name checks a name that is never empty.
func name(field, value string) error {
	if value == "" {
		return invalid(field, "is empty")
	}
	return short(field, value)
}

func short(field, value string) error {
	if len(value) > maxName {
		return invalid(field, "%d bytes, at most %d", len(value), maxName)
	}
	return nil
}

func count(field string, n, most int) error {
	if n > most {
		return invalid(field, "%d entries, at most %d", n, most)
	}
	return nil
}

func key(value []byte) error {
	if len(value) > lease.MaxKeyLen {
		return invalid("bucket.key", "%d bytes, at most %d", len(value), lease.MaxKeyLen)
	}
	return nil
}
