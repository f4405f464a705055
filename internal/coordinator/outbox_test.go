package coordinator

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

func TestOutboxIsBounded(t *testing.T) {
	o := newOutbox(maxQueuedEntries)
	large := lease.GrantBatch{Grants: make([]lease.Grant, maxQueuedEntries+1)}
	require.True(t, o.push(large), "one batch is taken, however large")
	require.False(t, o.push(large))
	<-o.news
	require.Len(t, o.take(), 1)
	for range maxQueuedBatches {
		require.True(t, o.push(lease.GrantBatch{}))
	}
	require.False(t, o.push(lease.GrantBatch{}))
	assert.Len(t, o.take(), maxQueuedBatches)
	assert.Empty(t, o.take())
}

func TestAttemptsKnowTheOldest(t *testing.T) {
	var a attempts
	_, ok := a.oldest()
	require.False(t, ok)
	a.begin(1, 10)
	a.begin(2, 5)
	at, ok := a.oldest()
	require.True(t, ok)
	assert.EqualValues(t, 5, at)
	a.end(2)
	at, _ = a.oldest()
	assert.EqualValues(t, 10, at)
}
