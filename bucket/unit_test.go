package bucket_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/bucket"
)

func TestUnitNames(t *testing.T) {
	for want, name := range []string{"minute", "hour", "day", "week", "month", "year"} {
		u, err := bucket.ParseUnit(name)
		require.NoError(t, err)
		assert.Equal(t, bucket.Unit(want+1), u)
		assert.Equal(t, name, u.String())
	}
	for _, name := range []string{"", "Day", "days", "second", "Unit(0)", " day"} {
		_, err := bucket.ParseUnit(name)
		assert.ErrorIs(t, err, bucket.ErrWindows)
	}
	assert.Equal(t, "Unit(0)", bucket.Unit(0).String())
}
