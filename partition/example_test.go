package partition_test

import (
	"fmt"
	"time"

	"github.com/a1009580/leasehold/lease"
	"github.com/a1009580/leasehold/partition"
	"github.com/a1009580/leasehold/policy"
)

const text = `
apiVersion: leasehold/v1
domain: api
quotas:
  - name: browse
    match: {route: /browse}
    limit: {tokens: 1000, per: 1s}
    partition: {mode: local_fallback, rate: {tokens: 50, per: 1s}, burst: 100, for: 10m}
    regions: {us: {nodes: 3}, eu: {nodes: 2}, ap: {}}
`

func ExampleBound() {
	set, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	r := partition.Bound(set.Quota("api/browse"), lease.DefaultDrift, []partition.Cut{
		{Region: "eu", Holders: 2, For: time.Hour},
		{Region: "ap", Holders: 1, For: time.Minute, Count: 3},
	})
	for _, l := range r.Lines {
		fmt.Println(l.Text())
	}
	fmt.Printf("bound %d, %.1f%% of the %d that the limit allows in %v\n", r.Tokens, r.Percent(), r.Allowed, r.Span)
	// Output:
	// eu: 2 holders x (100 + 1.001 x 50/s x 600 s) = 60260
	// ap: 3 cuts x (100 + 1.001 x 50/s x 60 s) = 9309
	// bound 69569, 11.6% of the 601600 that the limit allows in 10m0s
}

func ExampleWorstOfEach() {
	set, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	q := set.Quota("api/browse")
	for i, r := range partition.WorstOfEach(q, lease.DefaultDrift, partition.Places(q), 10*time.Minute) {
		fmt.Printf("any %d of %d regions: at most %d\n", i+1, len(q.Regions), r.Tokens)
	}
	// Output:
	// any 1 of 3 regions: at most 90390
	// any 2 of 3 regions: at most 150650
	// any 3 of 3 regions: at most 180780
}

func ExampleLink() {
	var l partition.Link
	l.Proof(0)
	l.Broken(500*time.Millisecond, "connection reset by peer")
	fmt.Println(l.State(), "-", l.Reason())
	l.Tick(3 * time.Second)
	fmt.Println(l.State(), l.Unreserved())
	l.Proof(4 * time.Second)
	number, since, open := l.Cut()
	fmt.Println(l.State(), l.Unreserved(), "- cut", number, "since", since, open)
	// Output:
	// suspect - the stream broke: connection reset by peer
	// cut_off true
	// healing false - cut 1 since 3s true
}
