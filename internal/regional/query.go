package regional

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a1009580/leasehold/limiter"
)

// entryHeader is what the names of headers that carry an entry begin with. The
// rest is the entry's key, in lower case, because the case of a header's name
// means nothing.
const entryHeader = "X-Leasehold-Descriptor-"

// reserved are the parameters of a query that are no entries. An entry of such a
// name goes into a header, or a POST.
var reserved = []string{"domain", "cost", "deny"}

// readQuery reads the form of GET: every parameter of the query but the reserved
// ones is an entry, and so is every header X-Leasehold-Descriptor-KEY.
func readQuery(_ http.ResponseWriter, r *http.Request, values url.Values) (q checkRequest, err error) {
	q.cost = 1
	if q.domain, err = single(values, "domain"); err != nil {
		return q, err
	}
	if q.domain == "" {
		return q, errors.New("domain is missing")
	}
	text, err := single(values, "cost")
	if err != nil {
		return q, err
	}
	if text != "" {
		if q.cost, err = wholeNumber(text); err != nil {
			return q, err
		}
	}
	for key := range values {
		if slices.Contains(reserved, key) {
			continue
		}
		value, err := single(values, key)
		if err != nil {
			return q, err
		}
		q.descriptor = append(q.descriptor, limiter.Pair{Key: key, Value: value})
	}
	for name, all := range r.Header {
		key, ok := strings.CutPrefix(name, entryHeader)
		if !ok {
			continue
		}
		if len(all) != 1 {
			return q, fmt.Errorf("the header %s is there %d times", name, len(all))
		}
		q.descriptor = append(q.descriptor, limiter.Pair{Key: strings.ToLower(key), Value: all[0]})
	}
	return q, nil
}

// single returns a parameter that may be there once.
func single(values url.Values, key string) (string, error) {
	if n := len(values[key]); n > 1 {
		return "", fmt.Errorf("%w: %.64q", limiter.ErrDuplicateEntry, key)
	}
	return values.Get(key), nil
}

// wholeNumber reads a cost.
func wholeNumber(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, errors.New("cost must be a whole number")
	}
	return n, nil
}
