package policy_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/a1009580/leasehold/policy"
)

const text = `
apiVersion: leasehold/v1
domain: api
quotas:
  - name: partner-key
    match: {api_key: "*"}
    limit: {tokens: 10000, per: 1m}
    partition: {mode: local_floor, floor: 10%}
    regions: {us: {weight: 2}, eu: {}, ap: {nodes: 4}}
  - name: free-plan
    match: {plan: free}
    limit: {tokens: 500, per: 1s, burst: 50}
`

func Example() {
	set, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		fmt.Println(err)
		return
	}
	matched, err := set.Domain("api").Match([]policy.Pair{{Key: "api_key", Value: "s3cret"}, {Key: "plan", Value: "free"}}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range matched {
		fmt.Printf("%s %s: %v\n", m.Quota.ID, policy.Redact(m.Key), m.Quota.Limit)
	}
	tokens, burst := set.Quota("api/partner-key").NodeFloor("ap")
	fmt.Println("floor of a node in ap:", tokens, burst)
	fmt.Println(len(set.Warnings(150*time.Millisecond, 100*time.Millisecond)), "warning")
	// Output:
	// api/free-plan k:e3b0c442: 500 per 1s, burst 50
	// api/partner-key k:241ab3a7: 10000 per 1m0s, burst 10000
	// floor of a node in ap: 250 250
	// 1 warning
}

func ExampleParse() {
	_, err := policy.Parse("policy.yaml", []byte(`
apiVersion: leasehold/v1
domain: api
quotas:
  - name: partner-key
    match: {api_key: "*"}
    limit: {tokens: 0, per: 60}
`))
	fmt.Println(err)
	var first *policy.Error
	if errors.As(err, &first) {
		fmt.Println("line", first.Line)
	}
	// Output:
	// policy.yaml:7:21: limit.tokens: must be a whole number from 1 to 9007199254740992, or the word unbounded, not 0
	// policy.yaml:7:29: limit.per: must have a unit, such as 60s, not 60
	// line 7
}

func ExampleDiff() {
	const head = "apiVersion: leasehold/v1\ndomain: api\nquotas:\n"
	old, _ := policy.Parse("old", []byte(head+"- {name: q, match: {}, limit: {tokens: 100, per: 1m}}"))
	next, _ := policy.Parse("next", []byte(head+"- {name: q, match: {}, limit: {tokens: 200, per: 1m, burst: 100}}"))
	for _, change := range policy.Diff(old, next) {
		fmt.Println(change)
	}
	// Output:
	// api/q: limit raised from 100 per 1m0s to 200 per 1m0s
}
