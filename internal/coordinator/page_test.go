package coordinator

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/a1009580/leasehold/lease"
)

// TestPagesAreFewAndBounded: small records are read many at once, large ones
// never more than a message holds.
func TestPagesAreFewAndBounded(t *testing.T) {
	page := func(n, bytes int) []lease.Entry {
		entries := make([]lease.Entry, n)
		for i := range entries {
			entries[i] = lease.Entry{Key: "0123456789", Value: make([]byte, bytes-10)}
		}
		return entries
	}
	assert.Equal(t, mostPage, nextPage(page(scanPage, 100)))
	assert.Equal(t, 1024, nextPage(page(scanPage, 1024)))
	assert.Equal(t, scanPage, nextPage(page(mostPage, 15_000)), "490 regions in each record")
	assert.Equal(t, scanPage, nextPage(page(1, 1<<21)))
}
