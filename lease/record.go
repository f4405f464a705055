package lease

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// record is the durable part of one bucket. Refills, returns, spend reports
// and renewals after it was written are not in it: forgetting them at a
// takeover can only under-admit.
type record struct {
	Epoch    Epoch
	Policy   uint64 // revision
	Window   int64
	Used     int64 // window quotas: granted or set aside in Window, and not returned
	Pool     int64 // token buckets: the chunk is already taken out
	Chunk    int64
	Inherits int64 // unclaimed chunks of older leaders
	Holders  []bound
}

// bound is the most that a holder may have unspent.
type bound struct {
	Holder HolderID
	Tokens int64
}

const recordVersion = 1

var errRecord = errors.New("malformed record")

// encode returns the stored form of r. Every amount is at least 0.
func (r *record) encode() []byte {
	b := make([]byte, 0, 64+48*len(r.Holders))
	b = append(b, recordVersion)
	b = binary.AppendUvarint(b, r.Epoch.History)
	b = binary.AppendUvarint(b, uint64(r.Epoch.Revision))
	b = binary.AppendUvarint(b, r.Policy)
	b = binary.AppendVarint(b, r.Window)
	for _, v := range []int64{r.Used, r.Pool, r.Chunk, r.Inherits} {
		b = binary.AppendUvarint(b, uint64(v))
	}
	b = binary.AppendUvarint(b, uint64(len(r.Holders)))
	for i := range r.Holders {
		b = appendHolder(b, r.Holders[i].Holder)
		b = binary.AppendUvarint(b, uint64(r.Holders[i].Tokens))
	}
	return b
}

func decodeRecord(data []byte) (record, error) {
	d := decoder{data: data}
	if v := d.byte(); v != recordVersion && d.err == nil {
		return record{}, fmt.Errorf("%w: version %d is unknown", errRecord, v)
	}
	r := record{
		Epoch:  Epoch{History: d.uvarint(), Revision: d.amount()},
		Policy: d.uvarint(), Window: d.varint(),
		Used: d.amount(), Pool: d.amount(), Chunk: d.amount(), Inherits: d.amount(),
	}
	for n := d.count(); n > 0 && d.err == nil; n-- {
		r.Holders = append(r.Holders, bound{Holder: d.holder(), Tokens: d.amount()})
	}
	return r, d.end()
}

func appendHolder(b []byte, h HolderID) []byte {
	b = appendString(b, h.Region)
	b = appendString(b, h.Node)
	return append(b, h.Incarnation[:]...)
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// decoder reads a stored value; the first error sticks.
type decoder struct {
	data []byte
	err  error
}

func (d *decoder) fail() {
	if d.err == nil {
		d.err = fmt.Errorf("%w: cut short or out of range", errRecord)
	}
	d.data = nil
}

func (d *decoder) byte() byte {
	if len(d.data) == 0 {
		d.fail()
		return 0
	}
	c := d.data[0]
	d.data = d.data[1:]
	return c
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.data)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[n:]
	return v
}

func (d *decoder) varint() int64 {
	v, n := binary.Varint(d.data)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[n:]
	return v
}

// amount reads a number that is at least 0 and fits an int64.
func (d *decoder) amount() int64 {
	v := d.uvarint()
	if v > 1<<63-1 {
		d.fail()
		return 0
	}
	return int64(v)
}

// count reads the length of a list of which each element takes a byte or more.
func (d *decoder) count() int {
	v := d.uvarint()
	if v > uint64(len(d.data)) {
		d.fail()
		return 0
	}
	return int(v)
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.data) {
		d.fail()
		return nil
	}
	b := d.data[:n]
	d.data = d.data[n:]
	return b
}

func (d *decoder) string() string { return string(d.bytes(d.count())) }

func (d *decoder) holder() HolderID {
	h := HolderID{Region: d.string(), Node: d.string()}
	copy(h.Incarnation[:], d.bytes(len(h.Incarnation)))
	return h
}

// end returns the first error, or one for bytes that were left over.
func (d *decoder) end() error {
	if d.err == nil && len(d.data) > 0 {
		return fmt.Errorf("%w: %d bytes left over", errRecord, len(d.data))
	}
	return d.err
}
