package overshoot

import "time"

// Links is the body of GET /v1/links: how the ways between regions and their coordinator are.
type Links struct {
	// Source is coordinator, which tells of every holder that it heard of since it leads, or region, which tells
	// of its own way to the coordinator.
	Source string `json:"source"`
	Region string `json:"region,omitempty"`
	Node   string `json:"node,omitempty"`
	// Leads is as in a Report. A standby knows no links.
	Leads bool       `json:"leads"`
	Since *time.Time `json:"since"`
	At    time.Time  `json:"at"`
	Links []Link     `json:"links"` // by region, node and holder
	// Forgotten is how many holders a coordinator has forgotten one by one, since there were too many; their cuts
	// still count.
	Forgotten int `json:"forgotten,omitempty"`
}

// Link is one way between a holder, that is a regional process, and a coordinator.
type Link struct {
	Region string `json:"region"`
	Node   string `json:"node"`
	Holder string `json:"holder,omitempty"` // region/node#incarnation
	// State is never_connected, connected, suspect, cut_off or healing; on a coordinator also gone, of a holder
	// that said goodbye, or whose place another process took. Reason says why in words.
	State  string  `json:"state"`
	Reason string  `json:"reason"`
	Since  Seconds `json:"since_seconds"` // how long it has been so
	// LastProof is how long ago the other side last answered; null if it never did.
	LastProof   *Seconds `json:"last_proof_seconds_ago"`
	Cut         Cut      `json:"cut"`
	Session     uint64   `json:"session,omitempty"` // 0: none is open
	Transitions uint64   `json:"transitions_total"`
	// Held is what the region has to live on; a coordinator leaves it out.
	Held *Held `json:"held,omitempty"`
}

// Cut is the last cut of a link. On a coordinator it is the holder's own if that told of one, else the one that
// the coordinator noticed: a holder that is not heard cannot tell.
type Cut struct {
	Number uint64  `json:"number"` // 0: there was none
	Open   bool    `json:"open"`   // it goes on
	Length Seconds `json:"length_seconds"`
	// Total is how many cuts there were.
	Total uint64 `json:"total"`
}

// Held is what a region can spend without hearing from a coordinator.
type Held struct {
	// Lease is the unspent tokens of all quotas, LeaseEnds when the last lease ends, 0 if there is none.
	Lease     int64   `json:"lease_tokens"`
	LeaseEnds Seconds `json:"lease_ends_seconds"`
	// Unreserved says that quotas whose mode allows it are spent unreserved now.
	Unreserved bool        `json:"unreserved"`
	Quotas     []HeldQuota `json:"quotas"`
}

// HeldQuota is one quota of Held.
type HeldQuota struct {
	Quota     string  `json:"quota"`
	Mode      string  `json:"mode,omitempty"`
	Lease     int64   `json:"lease_tokens"` // unspent, of all buckets
	LeaseEnds Seconds `json:"lease_ends_seconds"`
	// FloorOwned says that this process owns a part of its region's floor. FloorSpent and Overspent are what was
	// spent from it, and unreserved while cut off, since the process started.
	FloorOwned bool  `json:"floor_owned"`
	FloorSpent int64 `json:"floor_spent_tokens"`
	Overspent  int64 `json:"overspent_tokens"`
}
