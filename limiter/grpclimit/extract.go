package grpclimit

import (
	"context"
	"fmt"

	"google.golang.org/grpc/metadata"

	"github.com/a1009580/leasehold/limiter"
)

// Extractor says what of a call its quotas are about; method is the full one,
// /package.Service/Method. Its error is treated as ErrBadRequest says. It may be
// called concurrently.
//
// An entry that is left out does not match the quotas that ask for it, and the
// call might then match none: an Extractor should rather fail.
type Extractor func(ctx context.Context, method string) ([]limiter.Pair, error)

// Metadata takes an entry from metadata that must be there once and not be
// empty: a call without it is a bad one. The value is limited as it is, byte for
// byte.
func Metadata(entry, name string) Extractor {
	return func(ctx context.Context, _ string) ([]limiter.Pair, error) {
		values := metadata.ValueFromIncomingContext(ctx, name)
		if len(values) != 1 || values[0] == "" {
			return nil, fmt.Errorf("%w: the metadata %s must be there once, with a value", ErrBadRequest, name)
		}
		return []limiter.Pair{{Key: entry, Value: values[0]}}, nil
	}
}

// Method is an entry with the full method.
func Method(entry string) Extractor {
	return func(_ context.Context, method string) ([]limiter.Pair, error) {
		return []limiter.Pair{{Key: entry, Value: method}}, nil
	}
}

// All takes the entries of several Extractors together.
func All(extractors ...Extractor) Extractor {
	return func(ctx context.Context, method string) ([]limiter.Pair, error) {
		var all []limiter.Pair
		for _, extract := range extractors {
			pairs, err := extract(ctx, method)
			if err != nil {
				return nil, err
			}
			all = append(all, pairs...)
		}
		return all, nil
	}
}
