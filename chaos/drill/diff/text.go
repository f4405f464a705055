package diff

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
)

// Text writes a comparison for people, one line for each change. Nothing of the
// results can control a terminal.
func (c *Comparison) Text(w io.Writer) error {
	var b strings.Builder
	for _, d := range c.Doubts {
		fmt.Fprintf(&b, "not the same %s\n", plain(d))
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "note     %s\n", plain(n))
	}
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, x := range c.Changes {
		fmt.Fprintf(t, "%-7s\t%s\t%s\t-> %s\n", x.Kind, plain(x.What), plain(x.Before), plain(x.After))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(c.Changes) == 0 {
		b.WriteString("nothing changed\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// JSON writes a comparison as one object.
func (c *Comparison) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(c)
}

// plain replaces what cannot be printed.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
