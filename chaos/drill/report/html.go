package report

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

//go:embed html
var files embed.FS

// HTML writes the report as one file. Its element with the id "result" holds the
// result itself, as JSON.
func HTML(w io.Writer, r *result.Result) error {
	p, err := newPage(r)
	if err != nil {
		return err
	}
	return render(w, "page", p)
}

// render executes a template. It is parsed each time: once a drill is often enough,
// and there is nothing to share.
func render(w io.Writer, name string, data any) error {
	t, err := template.New("").Funcs(funcs()).ParseFS(files, "html/*.tmpl")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := t.ExecuteTemplate(&b, name, data); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	_, err = w.Write(bytes.Map(visible, b.Bytes()))
	return err
}

// visible replaces what HTML does not allow at all: control characters, as a log
// may have them. (In the embedded JSON they are escaped.)
func visible(r rune) rune {
	if unicode.IsControl(r) && r != '\n' {
		return utf8.RuneError
	}
	return r
}

func funcs() template.FuncMap {
	return template.FuncMap{
		"css": func() (template.CSS, error) {
			b, err := files.ReadFile("html/style.css")
			return template.CSS(b), err
		},
		"secs": seconds, "clock": clock, "comma": comma, "count": count, "rate": rate, "share": share, "signed": signed,
		"date":        func(t time.Time) string { return t.UTC().Format("2 January 2006, 15:04:05 UTC") },
		"join":        func(s []string) string { return strings.Join(s, ", ") },
		"plural":      func(n int, noun string) string { return plural(int64(n), noun) },
		"deref":       func(x *float64) float64 { return *x },
		"num":         func(p pc) float64 { return float64(p) },
		"plus":        func(a, b int) int { return a + b },
		"minus":       minus,
		"kind":        kindWord,
		"ratesHeight": func() int { return ratesHeight }, "heldHeight": func() int { return heldHeight },
	}
}

// minus subtracts pixels or percents.
func minus(a, b any) (any, error) {
	switch x := a.(type) {
	case int:
		if y, ok := b.(int); ok {
			return x - y, nil
		}
		if y, ok := b.(pc); ok {
			return pc(x) - y, nil
		}
	case pc:
		if y, ok := b.(pc); ok {
			return x - y, nil
		}
	}
	return nil, fmt.Errorf("cannot subtract %T from %T", b, a)
}

// kindWord introduces the text of an event whose text alone does not say what it is.
func kindWord(k result.EventKind) string {
	switch k {
	case result.EventInject:
		return "inject: "
	case result.EventHeal:
		return "heal: "
	case result.EventMark:
		return "mark: "
	case result.EventStop:
		return "stopped: "
	case result.EventPhase, result.EventSystem:
	}
	return ""
}
