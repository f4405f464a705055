package lease

import (
	"cmp"
	"fmt"
	"time"
)

// Epoch orders leaders (law 9). It grows from leader to leader of one store;
// History grows when a store is found to have lost its past (law 13).
type Epoch struct {
	History  uint64
	Revision int64 // create revision of the leader's key
}

// Compare orders epochs by history, then by revision.
func (e Epoch) Compare(o Epoch) int {
	return cmp.Or(cmp.Compare(e.History, o.History), cmp.Compare(e.Revision, o.Revision))
}

// String returns the epoch as history.revision.
func (e Epoch) String() string { return fmt.Sprintf("%d.%d", e.History, e.Revision) }

// Session numbers one connected conversation of a holder within an epoch.
type Session struct {
	Epoch Epoch
	N     uint64 // from 1; 0 is no session
}

// Compare orders sessions by epoch, then by number.
func (s Session) Compare(o Session) int {
	return cmp.Or(s.Epoch.Compare(o.Epoch), cmp.Compare(s.N, o.N))
}

// HolderID names one run of one regional process. A restarted process has
// another incarnation and is another holder (law 10).
type HolderID struct {
	Region      string
	Node        string
	Incarnation [16]byte // random
}

// String returns region/node#incarnation, the incarnation cut to 4 bytes.
func (h HolderID) String() string {
	return fmt.Sprintf("%s/%s#%x", h.Region, h.Node, h.Incarnation[:4])
}

// BucketID names one quota for one key. Key is any string of bytes and is never
// printed as it is: it may be a credential.
type BucketID struct {
	Quota string
	Key   string
}

// Moment is one reading of a coordinator's two clocks. Durations are measured
// by Mono, which counts the time that a machine is suspended; Wall says in
// which calendar window we are and nothing else (law 6).
type Moment struct {
	Mono time.Duration
	Wall time.Time
}
