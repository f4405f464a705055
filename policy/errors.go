package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Errors of matching a request. They are wrapped, so test for them with errors.Is. Each of them is the
// caller's mistake (a 400, INVALID_ARGUMENT), never a decision about a limit.
var (
	// ErrDuplicateEntry says that a descriptor names the same entry twice.
	ErrDuplicateEntry = errors.New("descriptor has the same entry twice")
	// ErrTooManyEntries says that a descriptor has more than MaxDescriptor entries.
	ErrTooManyEntries = errors.New("descriptor has too many entries")
	// ErrKeyTooLong says that a bucket key would be longer than MaxKeyBytes.
	ErrKeyTooLong = errors.New("bucket key is too long")
)

// Error is one problem of a policy file.
type Error struct {
	File    string // as given to Parse
	Line    int    // from 1
	Column  int    // from 1, in characters
	Message string // begins with the path of the field, such as "limit.tokens: "
}

// Error returns "file:line:column: message", the form that editors jump to.
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Errors are all problems of a policy file in the order of their position, never empty.
// It is the type of every error that Parse returns.
type Errors []*Error

// Error returns one problem a line.
func (es Errors) Error() string {
	lines := make([]string, len(es))
	for i, e := range es {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find a single *Error.
func (es Errors) Unwrap() []error {
	all := make([]error, len(es))
	for i, e := range es {
		all[i] = e
	}
	return all
}

func (es Errors) sort() {
	slices.SortStableFunc(es, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// once returns the sorted errors without those that are said again: what a domain's metadata says is read for
// each of its rules.
func (es Errors) once() Errors {
	return slices.CompactFunc(es, func(a, b *Error) bool { return *a == *b })
}
