package lease

// holderTable keeps the holders that were heard of, by number: an account
// stores four bytes for its holder.
type holderTable struct {
	index  map[HolderID]int32
	list   []holderState
	unused []int32
	cursor int
}

type holderState struct {
	id       HolderID
	known    bool
	session  uint64 // the newest
	complete bool   // its Hello is
	unheard  bool   // some of its claims found no room in memory
	gone     bool   // said goodbye
	accounts int    // open ones
	over     map[overKey]int64
	owes     uint64 // the ReportBatch.Owes that over was last cleared by
}

// settled says that everything the holder has is known: what a record says of
// it and it did not claim, it does not have.
func (h *holderState) settled() bool { return h.gone || h.complete && !h.unheard }

func (t *holderTable) add(id HolderID) int32 {
	if i, ok := t.index[id]; ok {
		return i
	}
	i := int32(len(t.list))
	if n := len(t.unused); n > 0 {
		i, t.unused = t.unused[n-1], t.unused[:n-1]
	} else {
		t.list = append(t.list, holderState{})
	}
	t.list[i] = holderState{id: id, known: true}
	t.index[id] = i
	return i
}

// maxOwing is up to how many holders one that spent unreserved is remembered
// after it was last heard.
const maxOwing = 10_000

// forgetHolders forgets some of the holders that have no session and no open
// account: every restart of a process makes a new one.
func (l *Ledger) forgetHolders(n int) {
	t := &l.holders
	for n = min(n, len(t.list)); n > 0; n-- {
		if t.cursor >= len(t.list) {
			t.cursor = 0
		}
		h := &t.list[t.cursor]
		// What it tells again must not count again.
		owes := len(h.over) > 0 && !h.gone && len(t.index) <= maxOwing && l.counters < l.maxCounters()
		if h.known && h.accounts == 0 && l.sessions[h.session] == nil && !owes {
			delete(t.index, h.id)
			l.counters -= len(h.over)
			*h = holderState{}
			t.unused = append(t.unused, int32(t.cursor))
		}
		t.cursor++
	}
}

// openAccount adds an account to a book.
func (l *Ledger) openAccount(b *book, a account) *account {
	l.holders.list[a.holder].accounts++
	b.accounts = append(b.accounts, a)
	return &b.accounts[len(b.accounts)-1]
}
