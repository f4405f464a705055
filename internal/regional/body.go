package regional

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/a1009580/leasehold/limiter"
)

// readBody reads the form of POST:
//
//	{"domain": "api", "descriptor": {"api_key": "k", "device": {"base64": "3q2+7w=="}}, "cost": 1}
//
// It is read strictly: an unknown or repeated field, something after the object,
// or a text that is not Unicode is an error. A text that is not Unicode would
// otherwise be replaced, and two keys become one; that is what base64 is for.
func readBody(w http.ResponseWriter, r *http.Request, _ url.Values) (checkRequest, error) {
	q := checkRequest{cost: 1}
	body, err := bodyOf(w, r)
	if err != nil {
		return q, fmt.Errorf("the body cannot be read: %w", err)
	}
	if !utf8.Valid(body) || loneSurrogate(body) {
		return q, errors.New(`the body is not Unicode: send such a value as {"base64": "..."}`)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	err = object(d, "the body", func(field string) error {
		switch field {
		case "domain":
			return text(d, field, &q.domain)
		case "descriptor":
			return object(d, field, func(key string) error {
				value, err := entryValue(d)
				q.descriptor = append(q.descriptor, limiter.Pair{Key: key, Value: value})
				return err
			})
		case "cost":
			return whole(d, &q.cost)
		default:
			return fmt.Errorf("unknown field %.64q", field)
		}
	})
	if err != nil {
		return q, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return q, errors.New("there is something after the object")
	}
	if q.domain == "" {
		return q, errors.New("domain is missing")
	}
	return q, nil
}

// bodyOf reads a body that is neither too large nor too slow.
func bodyOf(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	patience := http.NewResponseController(w)
	_ = patience.SetReadDeadline(time.Now().Add(bodyTimeout)) // where there is a connection
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err == nil {
		_ = patience.SetReadDeadline(time.Time{})
	}
	return body, err
}

// object reads an object, and has every field's value read by its name.
func object(d *json.Decoder, name string, value func(field string) error) error {
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return syntax(err, name+" must be an object")
	}
	var seen []string
	for d.More() {
		t, err := d.Token()
		field, ok := t.(string)
		if err != nil || !ok {
			return syntax(err, name+" must be an object")
		}
		if slices.Contains(seen, field) {
			return fmt.Errorf("%w: %.64q", limiter.ErrDuplicateEntry, field)
		}
		if seen = append(seen, field); len(seen) > maxFields {
			return fmt.Errorf("%w: %s has more than %d", limiter.ErrTooManyEntries, name, maxFields)
		}
		if err := value(field); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return syntax(err, "")
}

// maxFields is the most fields of an object: above what a descriptor may have,
// which the limiter says better.
const maxFields = 100

// entryValue reads a text, or bytes in base64.
func entryValue(d *json.Decoder) (string, error) {
	const wrong = `an entry's value must be a string, or {"base64": "..."}`
	t, err := d.Token()
	if err != nil {
		return "", syntax(err, wrong)
	}
	if s, ok := t.(string); ok {
		return s, nil
	}
	if t != json.Delim('{') {
		return "", errors.New(wrong)
	}
	var name, encoded string
	if err := text(d, wrong, &name); err != nil || name != "base64" {
		return "", errors.New(wrong)
	}
	if err := text(d, "base64", &encoded); err != nil {
		return "", err
	}
	if t, err := d.Token(); err != nil || t != json.Delim('}') {
		return "", syntax(err, wrong)
	}
	value, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if err != nil {
		return "", errors.New("base64: not in the standard encoding with padding")
	}
	return string(value), nil
}

// text reads a string.
func text(d *json.Decoder, name string, to *string) error {
	t, err := d.Token()
	s, ok := t.(string)
	if err != nil || !ok {
		return syntax(err, name+" must be a string")
	}
	*to = s
	return nil
}

// whole reads a whole number.
func whole(d *json.Decoder, to *int64) error {
	t, err := d.Token()
	n, ok := t.(json.Number)
	if err != nil || !ok {
		return syntax(err, "cost must be a whole number")
	}
	*to, err = wholeNumber(n.String())
	return err
}

// syntax is an error of the JSON itself, or else says what was expected. It
// never quotes the body, which may hold a credential.
func syntax(err error, expected string) error {
	switch {
	case err != nil:
		return errors.New("the body is not well-formed JSON")
	case expected != "":
		return errors.New(expected)
	default:
		return nil
	}
}

// loneSurrogate says that a JSON text holds an escape of half a character.
func loneSurrogate(b []byte) bool {
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		i++
		switch r := escaped(b, i); {
		case r >= 0xDC00 && r <= 0xDFFF:
			return true
		case r >= 0xD800 && r <= 0xDBFF:
			if i+6 > len(b) || b[i+5] != '\\' {
				return true
			}
			if low := escaped(b, i+6); low < 0xDC00 || low > 0xDFFF {
				return true
			}
			i += 6
		}
	}
	return false
}

// escaped returns the number of an escape uXXXX at i, or -1.
func escaped(b []byte, i int) int {
	if i+5 > len(b) || b[i] != 'u' {
		return -1
	}
	r := 0
	for _, c := range b[i+1 : i+5] {
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | int(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | int(c|0x20-'a'+10)
		default:
			return -1
		}
	}
	return r
}
