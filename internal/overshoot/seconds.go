package overshoot

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// Seconds is a duration that JSON has as an exact number of seconds, to the nanosecond.
type Seconds time.Duration

// Duration returns it as a duration.
func (s Seconds) Duration() time.Duration { return time.Duration(s) }

// MarshalJSON implements json.Marshaler: 90s is 90, 1.5s is 1.5.
func (s Seconds) MarshalJSON() ([]byte, error) {
	sign, n := "", uint64(s)
	if s < 0 {
		sign, n = "-", -n
	}
	text := fmt.Sprintf("%s%d.%09d", sign, n/uint64(time.Second), n%uint64(time.Second))
	return []byte(strings.TrimSuffix(strings.TrimRight(text, "0"), ".")), nil
}

var errSeconds = errors.New("not a number of seconds that a duration can hold")

// UnmarshalJSON implements json.Unmarshaler. What is finer than a nanosecond is cut off.
func (s *Seconds) UnmarshalJSON(data []byte) error {
	if _, err := strconv.ParseFloat(string(data), 64); err != nil {
		return fmt.Errorf("%w: %s", errSeconds, data)
	}
	r, ok := new(big.Rat).SetString(string(data))
	if !ok {
		return fmt.Errorf("%w: %s", errSeconds, data)
	}
	r.Mul(r, big.NewRat(int64(time.Second), 1))
	n := new(big.Int).Quo(r.Num(), r.Denom())
	if !n.IsInt64() || n.Int64() == math.MinInt64 {
		return fmt.Errorf("%w: %s", errSeconds, data)
	}
	*s = Seconds(n.Int64())
	return nil
}
