package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/a1009580/leasehold/lease"
)

// readChecks are about Get, Scan and the store's revision.
func readChecks() []check {
	return []check{
		{"read/get returns those that are there", getSome},
		{"read/get takes more keys than a transaction", getMany},
		{"read/scan pages in order", scanPages},
		{"read/a limit below 1 reads none", scanNone},
		{"read/the revision never falls and rises with every write", revisionRises},
		{"read/an ended context reads nothing", readCancelled},
	}
}

func getSome(p *probe) {
	key := p.lead("a").Key()
	p.absent()
	r := p.commit(key, put("a", "1", 0), put("b", "2", 0))
	require.Equal(p, map[string]lease.Entry{
		"a": {Key: "a", Value: []byte("1"), Revision: r},
		"b": {Key: "b", Value: []byte("2"), Revision: r},
	}, p.get("absent", "b", "a", "", "ab", "A"))
}

func getMany(p *probe) {
	key := p.lead("a").Key()
	const n = 3 * lease.MaxTxnWrites
	keys := make([]string, 0, n)
	var writes []lease.Write
	for i := range n {
		keys = append(keys, fmt.Sprintf("key %d", i))
		if i%3 == 0 {
			writes = append(writes, put(keys[i], keys[i], 0))
		}
	}
	r := p.commit(key, writes...)
	found := p.get(keys...)
	require.Len(p, found, len(writes))
	for _, w := range writes {
		require.Equal(p, lease.Entry{Key: w.Key, Value: w.Value, Revision: r}, found[w.Key])
	}
}

func scanPages(p *probe) {
	key := p.lead("a").Key()
	keys := []string{
		"\x00", "\x00\x00", "A", "a", "a\x00", "a\x00\x00", "a\x00b", "a/", "a/1", "a0", "aa", "a\xfe",
		"a\xff", "a\xff\x00", "a\xff\xff", "b", "\xfe\xff", "\xff", "\xff\x00", "\xff\xff", "\xff\xff\xff",
	}
	writes := make([]lease.Write, 0, len(keys))
	for _, k := range keys {
		writes = append(writes, put(k, "value of "+k, 0))
	}
	r := p.commit(key, writes...)
	slices.Sort(keys)

	prefixes := append([]string{"", "zz", "a/1x", "\xff\xff\xff\xff"}, keys...)
	afters := append([]string{"", "0", "a\x00a", "a1", "zz", "\xff\xff\xff\xff"}, keys...)
	for _, prefix := range prefixes {
		for _, after := range afters {
			var want []string
			for _, k := range keys {
				if strings.HasPrefix(k, prefix) && k > after {
					want = append(want, k)
				}
			}
			p.page(prefix, after, len(keys)+1, want, r)
			p.page(prefix, after, 2, want[:min(2, len(want))], r)
		}
		p.walk(prefix, 3, keys)
	}
}

// page reads one page and checks that it is what it should be.
func (p *probe) page(prefix, after string, limit int, want []string, revision int64) {
	p.Helper()
	entries, storeRevision, err := p.Store.Scan(p.ctx, prefix, after, limit)
	require.NoError(p, err)
	require.GreaterOrEqual(p, storeRevision, revision)
	var got []string
	for _, e := range entries {
		got = append(got, e.Key)
		require.Equal(p, "value of "+e.Key, string(e.Value))
		require.Equal(p, revision, e.Revision)
	}
	require.Equal(p, want, got, "scan of prefix %q after %q up to %d", prefix, after, limit)
}

// walk reads all pages, as a caller would.
func (p *probe) walk(prefix string, limit int, keys []string) {
	p.Helper()
	var got []string
	for after := ""; ; {
		entries, _, err := p.Store.Scan(p.ctx, prefix, after, limit)
		require.NoError(p, err)
		for _, e := range entries {
			got = append(got, e.Key)
		}
		if len(entries) < limit {
			break
		}
		require.LessOrEqual(p, len(got), len(keys), "the pages do not end")
		after = entries[len(entries)-1].Key
	}
	var want []string
	for _, k := range keys {
		if strings.HasPrefix(k, prefix) {
			want = append(want, k)
		}
	}
	require.Equal(p, want, got, "pages of prefix %q", prefix)
}

func scanNone(p *probe) {
	r := p.commit(p.lead("a").Key(), put("a", "1", 0), put("b", "1", 0))
	for _, limit := range []int{0, -1} {
		entries, revision, err := p.Store.Scan(p.ctx, "", "", limit)
		require.NoError(p, err)
		require.Empty(p, entries, "limit %d", limit)
		require.GreaterOrEqual(p, revision, r)
	}
}

func revisionRises(p *probe) {
	empty := p.revision()
	require.GreaterOrEqual(p, empty, int64(0))
	l := p.lead("a")
	last := p.revision()
	require.Greater(p, last, empty, "an election writes")
	require.LessOrEqual(p, l.Key().Revision, last)
	var at int64
	for i := range 10 {
		r := p.commit(l.Key(), put("k", fmt.Sprint(i), at))
		require.Greater(p, r, last)
		require.GreaterOrEqual(p, p.revision(), r)
		_, scanned, err := p.Store.Scan(p.ctx, "none such", "", 1)
		require.NoError(p, err)
		require.GreaterOrEqual(p, scanned, r, "a scan that finds nothing knows the revision")
		_, read, err := p.Store.Get(p.ctx, []string{"none such"})
		require.NoError(p, err)
		require.GreaterOrEqual(p, read, scanned)
		at, last = r, read
	}
	last = max(last, p.commit(l.Key(), del("k", at)))
	require.NoError(p, l.Resign(p.ctx))
	require.Greater(p, p.revision(), last, "giving up a leadership writes")
}

func readCancelled(p *probe) {
	p.commit(p.lead("a").Key(), put("k", "1", 0))
	ctx, cancel := context.WithCancel(p.ctx)
	cancel()
	_, _, err := p.Store.Get(ctx, []string{"k"})
	require.ErrorIs(p, err, lease.ErrUnavailable)
	_, _, err = p.Store.Scan(ctx, "", "", 1)
	require.ErrorIs(p, err, lease.ErrUnavailable)
	_, _, err = p.Elector.Leader(ctx)
	require.ErrorIs(p, err, lease.ErrUnavailable)
}
