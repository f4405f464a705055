package coordinator

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/a1009580/leasehold/lease"
)

// TestMEM05_NeitherKeysNorMadeUpRegionsMakeMetrics has every key, and holders of
// regions that the policy does not name, and expects the series that were there
// before.
func TestMEM05_NeitherKeysNorMadeUpRegionsMakeMetrics(t *testing.T) {
	n := newRig(t, time.Second).start().leads()
	h := n.join(identity("us", 1)).hello()
	h.want("first", 1)
	n.join(identity("made up", 2)).hello()
	series := func() (names []string) {
		body, _ := n.get("/metrics")
		for line := range strings.Lines(body) {
			if strings.HasPrefix(line, "leasehold_") {
				names = append(names, line[:strings.LastIndexByte(line, ' ')])
			}
		}
		return names
	}
	eventually(t, "both are connected, and leadership was renewed", func() bool {
		return n.metric(`leasehold_coordinator_sessions{region="other"}`) == "1" &&
			n.metric(`leasehold_coordinator_election_proofs_total{outcome="ok"}`) != ""
	})
	before := series()
	reports := make([]lease.Report, 500)
	for i := range reports {
		reports[i] = lease.Report{Bucket: bucket(fmt.Sprint("s3cret", i)), Ask: lease.Ask{Demand: 1, Want: 1}}
	}
	h.report(reports...)
	for i := range 20 {
		n.join(identity(fmt.Sprint("region ", i), byte(3+i))).hello()
	}
	eventually(t, "all are there", func() bool {
		return n.metric(`leasehold_coordinator_sessions{region="other"}`) == "21" && n.status().Quotas[0].Buckets == 501
	})
	assert.Equal(t, before, series())
	body, _ := n.get("/metrics")
	assert.NotContains(t, body, "s3cret")
	assert.NotContains(t, body, "made up")
}
