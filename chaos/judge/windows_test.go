package judge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/judge"
)

func TestWindowStream(t *testing.T) {
	s := judge.NewWindowStream(10)
	require.Equal(t, int64(-10), s.Worst().Over)
	s.Add(60, 60, 4)
	s.Add(60, 120, 100) // of either
	require.Equal(t, int64(-6), s.Worst().Over)
	s.Add(120, 120, 10)
	require.Zero(t, s.Worst().Over)
	s.Add(60, 60, 7) // a late one
	require.Equal(t, judge.Finding{Admitted: 11, Over: 1}, s.Worst())
	s.Add(180, 180, 1)
	s.Add(60, 60, 50) // too late to tell
	require.Equal(t, judge.Finding{Admitted: 11, Over: 1}, s.Worst())
}
