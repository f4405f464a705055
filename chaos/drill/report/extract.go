package report

import (
	"errors"
	"html"
	"io"
	"strings"

	"github.com/a1009580/leasehold/chaos/drill/result"
)

// Around the result in a report: HTML escapes what it holds, so that neither can
// stand within it.
const (
	resultBegins = `<code id="result">`
	resultEnds   = `</code>`
)

// Read reads a result from what Result.Write wrote, or from a report that HTML
// wrote.
func Read(r io.Reader) (*result.Result, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(string(b))
	if !strings.HasPrefix(text, "<") {
		return result.Read(strings.NewReader(text))
	}
	_, text, begins := strings.Cut(text, resultBegins)
	text, _, ends := strings.Cut(text, resultEnds)
	if !begins || !ends {
		return nil, errors.New("the page holds no result of a drill")
	}
	return result.Read(strings.NewReader(html.UnescapeString(text)))
}
