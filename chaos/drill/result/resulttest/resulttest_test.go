package resulttest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/chaos/drill/result"
	"github.com/a1009580/leasehold/chaos/drill/result/resulttest"
)

func TestTheStoriesEndAsTheyAreCalled(t *testing.T) {
	for _, c := range []struct {
		made *result.Result
		want result.Outcome
	}{
		{resulttest.Pass(), result.Pass},
		{resulttest.Fail(), result.Fail},
		{resulttest.Inconclusive(), result.Inconclusive},
		{resulttest.Stopped(), result.Inconclusive},
		{resulttest.Fallback(), result.Pass},
	} {
		require.Equal(t, c.want, c.made.Verdict.Outcome, "%+v", c.made.Verdict)
		require.NoError(t, c.made.Validate())
		t.Log(c.made.Verdict, c.made.Overshoots[0].Closest, c.made.Overshoots[0].Worst)
	}
}
