package httplimit

import (
	"fmt"
	"net/http"
	"net/netip"

	"github.com/a1009580/leasehold/limiter"
)

// Extractor says what of a request its quotas are about. Its error is treated as
// ErrBadRequest says. It may be called concurrently.
//
// An entry that is left out does not match the quotas that ask for it, and the
// request might then match none: an Extractor should rather fail.
type Extractor func(*http.Request) ([]limiter.Pair, error)

// Header takes an entry from a header that must be there once and not be empty:
// a request without it is a bad one. The value is limited as it is, byte for
// byte.
func Header(entry, name string) Extractor {
	return func(r *http.Request) ([]limiter.Pair, error) {
		values := r.Header.Values(name)
		if len(values) != 1 || values[0] == "" {
			return nil, fmt.Errorf("%w: the header %s must be there once, with a value", ErrBadRequest, name)
		}
		return []limiter.Pair{{Key: entry, Value: values[0]}}, nil
	}
}

// RemoteIP takes an entry from the address of the connection: of IPv4 all of it,
// of IPv6 the first 64 bits, which is what one customer commonly has. Behind a
// proxy that is the proxy's address: write an Extractor that knows which of the
// forwarded addresses to trust.
func RemoteIP(entry string) Extractor {
	return func(r *http.Request) ([]limiter.Pair, error) {
		remote, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil {
			return nil, fmt.Errorf("httplimit: the connection's address: %w", err)
		}
		value := remote.Addr().Unmap().WithZone("")
		if value.Is4() {
			return []limiter.Pair{{Key: entry, Value: value.String()}}, nil
		}
		network, err := value.Prefix(64)
		if err != nil {
			return nil, fmt.Errorf("httplimit: the connection's address: %w", err)
		}
		return []limiter.Pair{{Key: entry, Value: network.String()}}, nil
	}
}

// Fixed is an entry that is the same for all requests.
func Fixed(entry, value string) Extractor {
	pairs := []limiter.Pair{{Key: entry, Value: value}}
	return func(*http.Request) ([]limiter.Pair, error) { return pairs[:1:1], nil }
}

// All takes the entries of several Extractors together.
func All(extractors ...Extractor) Extractor {
	return func(r *http.Request) ([]limiter.Pair, error) {
		var all []limiter.Pair
		for _, extract := range extractors {
			pairs, err := extract(r)
			if err != nil {
				return nil, err
			}
			all = append(all, pairs...)
		}
		return all, nil
	}
}
