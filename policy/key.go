package policy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"github.com/a1009580/leasehold/lease"
)

const (
	// MaxKeyBytes is the longest bucket key. A request that would need a longer one is refused.
	MaxKeyBytes = 1024

	// OverflowKey is the bucket of all keys beyond Quota.MaxKeys. No request has this key: it is no complete
	// length.
	OverflowKey = lease.OverflowKey
)

// AppendKey appends the canonical key of the bucket that q has for a request that it matches: for each of
// the quota's Any entries, sorted by entry, the value's length as a uvarint and its bytes. So two requests
// have one key exactly if all these values are the same bytes: any bytes, of any length up to MaxKeyBytes in
// all, never cut off and never normalised (an é in NFC and one in NFD are two keys). A quota without Any
// entries has the empty key.
//
// A key names a bucket within its quota only. On ErrKeyTooLong, dst is returned as it was. It allocates only
// if dst has no room.
func AppendKey(dst []byte, q *Quota, desc []Pair) ([]byte, error) {
	key := dst
	for i := range q.Match {
		e := &q.Match[i]
		if !e.Any {
			continue
		}
		v, _ := lookup(desc, e.Key)
		if len(v) <= MaxKeyBytes { // else this alone is too long: do not copy it
			key = binary.AppendUvarint(key, uint64(len(v)))
			key = append(key, v...)
		}
		if len(v) > MaxKeyBytes || len(key)-len(dst) > MaxKeyBytes {
			return dst, fmt.Errorf("%w: quota %s, entry %s; the most is %d bytes", ErrKeyTooLong, q.ID, e.Key, MaxKeyBytes)
		}
	}
	return key, nil
}

// Redact returns a short form of a key for logs and screens, the same for the same key: "k:" and the first 8
// hex digits of its SHA-256. It never shows the key's bytes. It is no secret: whoever guesses a key can check
// the guess.
func Redact(key string) string {
	if key == OverflowKey {
		return "k:overflow"
	}
	sum := sha256.Sum256([]byte(key))
	return "k:" + hex.EncodeToString(sum[:4])
}
