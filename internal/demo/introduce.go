package demo

import (
	"net/url"
	"strings"
	"time"
)

// introduce says what runs where, and what to try.
func (d *demo) introduce() {
	w := d.world
	say := d.screen.say
	say("\nLeasehold demo: NOT FOR PRODUCTION. One process plays every part, on this machine alone, and keeps nothing.\n\n")
	say("  coordinator   gRPC %s   HTTP %s   etcd %s\n", w.grpc, w.http, w.etcd)
	for _, p := range w.places {
		say("  region %-6s gRPC %s   HTTP %s   %d ms from the coordinator and back\n", p.name, p.grpc, p.http, p.roundTrip/time.Millisecond)
	}
	say("  policy        %s: %s admits %s for each %s\n", d.PolicyName, d.target.quota.ID, d.target.quota.Limit, d.target.entry)
	if w.temporary {
		say("  data          %s, removed at the end\n", w.dir)
	} else {
		say("  data          %s\n", w.dir)
	}
	if d.Speed != 1 {
		say("  clock         %v times as fast as real time: refill, leases, distances and traffic\n", d.Speed)
	}
	if d.trace != nil {
		say("  traffic       %s: %s requests, %s tokens, %v\n", d.Trace, number(d.trace.Requests), number(d.trace.Tokens), d.trace.Length.Round(time.Millisecond))
	} else {
		say("  traffic       generated: acme wants 8 times its limit, and its peak moves on every %v\n", move)
	}
	for _, warning := range d.warnings() {
		say("\n  Note: %s.\n", warning)
	}
	say("\nTry, in another terminal:\n\n")
	for _, command := range d.commands() {
		say("  %s\n", command)
	}
	say("\n")
}

// commands work as they are when they are pasted into a shell.
func (d *demo) commands() []string {
	q := url.Values{"domain": {d.target.domain.Name}}
	for _, p := range d.target.descriptor("me") {
		q.Set(p.Key, p.Value)
	}
	region := "http://" + d.world.places[0].http
	return []string{
		"curl -i " + shellQuote(region+"/v1/check?"+q.Encode()),
		"curl " + region + "/v1/overshoot",
		"curl http://" + d.world.http + "/v1/status",
	}
}

// shellQuote makes one word of a text for any shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
