package storetest

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// commitChecks are about single transactions of one leader.
func commitChecks() []check {
	return []check{
		{"commit/expect 0 creates and never replaces", expectAbsent},
		{"commit/expect a revision replaces that one only", expectRevision},
		{"commit/a nil value deletes", deletes},
		{"commit/an empty value is a value", emptyValues},
		{"commit/all or nothing", allOrNothing},
		{"commit/one revision for all writes", oneRevision},
		{"commit/a key written twice conflicts", writtenTwice},
		{"commit/no writes ask for the leader", noWrites},
		{"commit/as many writes as allowed and one more", manyWrites},
		{"commit/any bytes in keys and values", anyBytes},
		{"commit/values are copied", copied},
		{"commit/an ended context writes nothing", commitCancelled},
	}
}

func expectAbsent(p *probe) {
	key := p.lead("a").Key()
	p.absent("k")
	r := p.commit(key, put("k", "1", 0))
	p.holds("k", "1", r)
	p.refused(lease.ErrConflict, key, put("k", "2", 0))
	p.holds("k", "1", r)
}

func expectRevision(p *probe) {
	key := p.lead("a").Key()
	p.refused(lease.ErrConflict, key, put("k", "1", 1))
	first := p.commit(key, put("k", "1", 0))
	second := p.commit(key, put("k", "2", first))
	require.Greater(p, second, first)
	for _, wrong := range []int64{0, first, second + 1, -1, math.MaxInt64, math.MinInt64} {
		p.refused(lease.ErrConflict, key, put("k", "3", wrong))
	}
	p.holds("k", "2", second)
	again := p.commit(key, put("k", "2", second))
	require.Greater(p, again, second, "the same value is a write all the same")
	other := p.commit(key, put("other", "1", 0))
	require.Greater(p, other, again)
	p.holds("k", "2", again)
}

func deletes(p *probe) {
	key := p.lead("a").Key()
	first := p.commit(key, put("k", "1", 0), put("stays", "1", 0))
	p.refused(lease.ErrConflict, key, del("k", 0))
	p.refused(lease.ErrConflict, key, del("k", first+1))
	deleted := p.commit(key, del("k", first))
	require.Greater(p, deleted, first, "a deletion is a write")
	p.absent("k")
	p.holds("stays", "1", first)

	p.refused(lease.ErrConflict, key, del("k", first))
	p.refused(lease.ErrConflict, key, put("k", "2", first))
	p.commit(key, del("k", 0))
	p.absent("k")
	again := p.commit(key, put("k", "2", 0))
	require.Greater(p, again, deleted, "a recreated entry is newer than the deleted one")
	p.holds("k", "2", again)
	p.refused(lease.ErrConflict, key, put("k", "3", first))
}

func emptyValues(p *probe) {
	key := p.lead("a").Key()
	r := p.commit(key, put("k", "", 0))
	p.holds("k", "", r)
	entries, _, err := p.Store.Scan(p.ctx, "", "", 9)
	require.NoError(p, err)
	require.Equal(p, []lease.Entry{{Key: "k", Value: []byte{}, Revision: r}}, entries)
	p.refused(lease.ErrConflict, key, put("k", "1", 0))
	p.commit(key, put("k", "", r))
}

func allOrNothing(p *probe) {
	key := p.lead("a").Key()
	r := p.commit(key, put("old", "1", 0), put("gone soon", "1", 0))
	const n = 9
	for _, bad := range []int{0, n / 2, n - 1} {
		writes := make([]lease.Write, 0, n+2)
		for i := range n {
			writes = append(writes, put(fmt.Sprintf("new %d", i), "1", 0))
		}
		writes[bad].Expect = r
		writes = append(writes, put("old", "2", r), del("gone soon", r))
		p.refused(lease.ErrConflict, key, writes...)
	}
	p.holds("old", "1", r)
	p.holds("gone soon", "1", r)
	after := p.commit(key, put("old", "2", r), del("gone soon", r), put("new", "1", 0))
	p.holds("old", "2", after)
	p.holds("new", "1", after)
	p.absent("gone soon")
}

func oneRevision(p *probe) {
	key := p.lead("a").Key()
	r := p.commit(key, put("a", "1", 0), put("b", "1", 0), put("c", "1", 0))
	for _, e := range p.get("a", "b", "c") {
		require.Equal(p, r, e.Revision, "revision of %q", e.Key)
	}
	require.Equal(p, r, p.revision(), "the newest write has the store's revision")
}

func writtenTwice(p *probe) {
	key := p.lead("a").Key()
	p.refused(lease.ErrConflict, key, put("k", "1", 0), put("other", "1", 0), put("k", "2", 0))
	p.refused(lease.ErrConflict, key, put("k", "1", 0), del("k", 0))
	r := p.commit(key, put("k", "1", 0))
	p.refused(lease.ErrConflict, key, del("k", r), del("k", r))
}

func noWrites(p *probe) {
	l := p.lead("a")
	p.commit(l.Key())
	require.NoError(p, l.Resign(p.ctx))
	p.refused(lease.ErrFenced, l.Key())
}

func manyWrites(p *probe) {
	key := p.lead("a").Key()
	// Key and value together are the 4 KiB that every store takes.
	value := string(bytes.Repeat([]byte("v"), 4<<10-len("many 000")))
	writes := make([]lease.Write, 0, lease.MaxTxnWrites+1)
	for i := range lease.MaxTxnWrites + 1 {
		writes = append(writes, put(fmt.Sprintf("many %03d", i), value, 0))
	}
	p.refused(lease.ErrTooLarge, key, writes...)
	most := writes[:lease.MaxTxnWrites]
	r := p.commit(key, most...)
	keys := make([]string, 0, len(most))
	for i := range most {
		keys = append(keys, most[i].Key)
		most[i].Value, most[i].Expect = nil, r
	}
	require.Len(p, p.get(keys...), lease.MaxTxnWrites)

	// A refusal must fit as well: one bad record among the most there can be.
	most[len(most)-1].Expect++
	p.refused(lease.ErrConflict, key, most...)
	most[len(most)-1].Expect--
	p.commit(key, most...)
	p.absent(keys...)
}

func anyBytes(p *probe) {
	key := p.lead("a").Key()
	for i := range 256 {
		k := string([]byte{byte(i)})
		value := string([]byte{byte(i), 0, 0xff})
		p.holds(k, value, p.commit(key, put(k, value, 0)))
	}
	for _, k := range []string{"\x00\x00", "\xff\xff", "a\x00", "a/", "a0", "ключ", "  ", "../x"} {
		p.holds(k, k, p.commit(key, put(k, k, 0)))
	}
}

func copied(p *probe) {
	key := p.lead("a").Key()
	value := []byte("before")
	r := p.commit(key, lease.Write{Key: "k", Value: value})
	copy(value, "after!")
	read := p.get("k")["k"].Value
	require.Equal(p, "before", string(read), "the store kept the caller's slice")
	copy(read, "after!")
	entries, _, err := p.Store.Scan(p.ctx, "k", "", 1)
	require.NoError(p, err)
	require.Equal(p, "before", string(entries[0].Value), "Get gave the store's own slice away")
	copy(entries[0].Value, "after!")
	p.holds("k", "before", r)
}

func commitCancelled(p *probe) {
	key := p.lead("a").Key()
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	_, err := p.Store.Commit(ctx, key, []lease.Write{put("k", "1", 0)})
	require.ErrorIs(p, err, lease.ErrUnavailable)
	p.absent("k")
	p.commit(key, put("k", "1", 0))
}
