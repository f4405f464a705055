package lease

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"
	"time"

	"github.com/a1009580/leasehold/bucket"
)

// Keys of the store. A ledger reads all entries below MetaPrefix when it
// starts and those below BucketPrefix when they are first needed.
const (
	MetaPrefix   = "m/"
	BucketPrefix = "b/"

	clusterKey   = MetaPrefix + "cluster"
	policyKey    = MetaPrefix + "policy"
	windowPrefix = MetaPrefix + "window/"
	floorPrefix  = MetaPrefix + "floor/"
)

// bucketKey returns the store's key of a bucket. Quota names hold no NUL.
func bucketKey(id BucketID) string { return BucketPrefix + id.Quota + "\x00" + id.Key }

// StoreKey returns the key of the bucket's record, which Ready.Loads asks for.
func (id BucketID) StoreKey() string { return bucketKey(id) }

func parseBucketKey(key string) (BucketID, bool) {
	rest, ok := strings.CutPrefix(key, BucketPrefix)
	quota, k, found := strings.Cut(rest, "\x00")
	return BucketID{Quota: quota, Key: k}, ok && found
}

// clusterRecord is the durable part of the cluster as a whole.
type clusterRecord struct {
	Cluster string
	History uint64
	// Longest is the longest lease that any leader may have granted and that
	// may still run; it is raised before use and lowered only after the old
	// one has passed.
	Longest time.Duration
	// Election is the longest election lease that a leader before us may have.
	Election time.Duration
	// Since is the first history whose records say anything: those of older
	// ones were lost in part.
	Since uint64
	// Distrust says that the store lost its past, and that the time since is
	// not yet surely long enough for every bucket to have filled (law 13).
	Distrust bool
	// Changed says that what was granted under an older policy may still run: the
	// limits of both count.
	Changed bool
	// Levels are the levels of all newborns (levels).
	Levels string
}

func (r *clusterRecord) encode() []byte {
	b := []byte{recordVersion}
	b = appendString(b, r.Cluster)
	b = binary.AppendUvarint(b, r.History)
	b = binary.AppendUvarint(b, uint64(r.Longest))
	b = binary.AppendUvarint(b, uint64(r.Election))
	b = binary.AppendUvarint(b, r.Since)
	b = appendString(b, r.Levels)
	var flags byte
	if r.Distrust {
		flags |= flagDistrust
	}
	if r.Changed {
		flags |= flagChanged
	}
	return append(b, flags)
}

const (
	flagDistrust = 1 << iota
	flagChanged
)

func decodeCluster(data []byte) (clusterRecord, error) {
	d := decoder{data: data}
	if v := d.byte(); v != recordVersion {
		d.fail()
	}
	r := clusterRecord{
		Cluster: d.string(), History: d.uvarint(), Longest: time.Duration(d.amount()),
		Election: time.Duration(d.amount()), Since: d.uvarint(), Levels: d.string(),
	}
	flags := d.byte()
	r.Distrust, r.Changed = flags&flagDistrust != 0, flags&flagChanged != 0
	return r, d.end()
}

// PolicyRecord is the stored policy: the one in force, and the fingerprints of
// those that it replaced, so that a standby with an old file does not bring
// the old limits back.
type PolicyRecord struct {
	Revision   uint64 // from 1; 0 is no policy
	Policy     []byte // canonical form
	Superseded [][32]byte
}

// maxSuperseded bounds how many old fingerprints are kept.
const maxSuperseded = 64

// Next decides which policy to enforce when a coordinator comes with the
// given canonical form: the same revision if it is the stored one, a new
// revision if it is new, and the stored one (stale is true) if it is one that
// was replaced before.
func (r PolicyRecord) Next(policy []byte) (next PolicyRecord, stale bool) {
	if r.Revision > 0 && bytes.Equal(r.Policy, policy) {
		return r, false
	}
	if slices.Contains(r.Superseded, sha256.Sum256(policy)) {
		return r, true
	}
	return r.Replace(policy), false
}

// Replace returns the record of a new revision, also for a policy that had
// been replaced before: an operator asked for it.
func (r PolicyRecord) Replace(policy []byte) PolicyRecord {
	next := PolicyRecord{Revision: r.Revision + 1, Policy: policy}
	if r.Revision == 0 {
		return next
	}
	mine := sha256.Sum256(policy)
	for _, f := range append(slices.Clone(r.Superseded), sha256.Sum256(r.Policy)) {
		if f != mine {
			next.Superseded = append(next.Superseded, f)
		}
	}
	if over := len(next.Superseded) - maxSuperseded; over > 0 {
		next.Superseded = next.Superseded[over:]
	}
	return next
}

func (r *PolicyRecord) encode() []byte {
	b := []byte{recordVersion}
	b = binary.AppendUvarint(b, r.Revision)
	b = appendString(b, string(r.Policy))
	b = binary.AppendUvarint(b, uint64(len(r.Superseded)))
	for _, f := range r.Superseded {
		b = append(b, f[:]...)
	}
	return b
}

func decodePolicy(data []byte) (PolicyRecord, error) {
	d := decoder{data: data}
	if v := d.byte(); v != recordVersion {
		d.fail()
	}
	r := PolicyRecord{Revision: d.uvarint(), Policy: []byte(d.string())}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		var f [32]byte
		copy(f[:], d.bytes(len(f)))
		r.Superseded = append(r.Superseded, f)
	}
	return r, d.end()
}

// StoredPolicy finds the policy among the entries below MetaPrefix; a store
// without one gives the zero record.
func StoredPolicy(meta []Entry) (PolicyRecord, error) {
	for _, e := range meta {
		if e.Key == policyKey {
			return decodePolicy(e.Value)
		}
	}
	return PolicyRecord{}, nil
}

// windowRecord keeps the highest window of a quota that any leader opened, so
// that windows never go back (law 5). Windows up to Spoiled count as used: the
// store had lost what was used in them when History began.
type windowRecord struct {
	History       uint64
	High, Spoiled int64
	// Ends is when High ends, in Unix milliseconds: until then its buckets'
	// records are needed, also when no policy names the quota. 0 is unknown.
	Ends int64
}

func (r windowRecord) encode() []byte {
	b := binary.AppendUvarint([]byte{recordVersion}, r.History)
	return binary.AppendVarint(binary.AppendVarint(binary.AppendVarint(b, r.High), r.Spoiled), r.Ends)
}

func decodeWindow(data []byte) (windowRecord, error) {
	d := decoder{data: data}
	if v := d.byte(); v != recordVersion {
		d.fail()
	}
	r := windowRecord{History: d.uvarint(), High: d.varint(), Spoiled: d.varint()}
	if d.err == nil && len(d.data) > 0 {
		r.Ends = d.varint()
	}
	return r, d.end()
}

// floorRecord says who owns a slot of a quota's floors.
type floorRecord struct {
	Holder HolderID
	Grant  uint64
	Region string
	Tokens int64
	Burst  int64
	TTL    time.Duration
	Free   bool // the owner said goodbye
	// Per is the period of Tokens, which a policy may change while the owner
	// spends; 0 in records of older builds.
	Per time.Duration
	// Of a window quota: the owner may spend in the windows from First to
	// Through, both of which are durable before it is told. Owners before it may
	// have spent PriorTokens in each window up to PriorLast. All are 0 in records
	// of older builds, in which window quotas had no floors.
	First, Through, PriorLast int64
	PriorTokens               int64
}

func (r *floorRecord) encode() []byte {
	b := []byte{recordVersion}
	b = appendHolder(b, r.Holder)
	b = binary.AppendUvarint(b, r.Grant)
	b = appendString(b, r.Region)
	for _, v := range []int64{r.Tokens, r.Burst, int64(r.TTL)} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	if r.Free {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	b = binary.AppendUvarint(b, uint64(r.Per))
	for _, v := range []int64{r.First, r.Through, r.PriorLast, r.PriorTokens} {
		b = binary.AppendVarint(b, v)
	}
	return b
}

// tokens is the owner's rate as tokens for each per, rounded up.
func (r *floorRecord) tokens(per time.Duration) int64 {
	if r.Per <= 0 || r.Per == per || per <= 0 {
		return r.Tokens
	}
	n := bucket.Scale(r.Tokens, int64(per), int64(r.Per))
	if n < bucket.MaxTokens {
		n++
	}
	return n
}

func decodeFloor(data []byte) (floorRecord, error) {
	d := decoder{data: data}
	if v := d.byte(); v != recordVersion {
		d.fail()
	}
	r := floorRecord{
		Holder: d.holder(), Grant: d.uvarint(), Region: d.string(),
		Tokens: d.amount(), Burst: d.amount(), TTL: time.Duration(d.amount()), Free: d.byte() == 1,
	}
	if d.err == nil && len(d.data) > 0 {
		r.Per = time.Duration(d.amount())
	}
	if d.err == nil && len(d.data) > 0 {
		r.First, r.Through, r.PriorLast, r.PriorTokens = d.varint(), d.varint(), d.varint(), d.varint()
	}
	return r, d.end()
}

// floorKey names one slot; the slot comes first, since quota names are free
// to hold digits at their end.
func floorKey(quota string, slot int32) string {
	return floorPrefix + string(binary.AppendUvarint(nil, uint64(slot))) + "/" + quota
}

func parseFloorKey(key string) (quota string, slot int32, ok bool) {
	rest, found := strings.CutPrefix(key, floorPrefix)
	v, n := binary.Uvarint([]byte(rest))
	if !found || n <= 0 || v > maxFloorSlots || len(rest) <= n || rest[n] != '/' {
		return "", 0, false
	}
	return rest[n+1:], int32(v), true
}

// maxFloorSlots bounds the parts of the floors of one quota.
const maxFloorSlots = 100_000
