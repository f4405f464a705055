package policy

import (
	"slices"
	"strings"
	"time"
)

// object is a mapping with known fields.
type object struct {
	d      *decoder
	node   *node
	path   string
	fields map[string]*node
}

// object reads a mapping whose fields must be among the known ones. It is nil if n is none.
func (d *decoder) object(n *node, path string, known ...string) *object {
	pairs, ok := d.pairs(n, path)
	if !ok {
		return nil
	}
	o := &object{d: d, node: n, path: path, fields: make(map[string]*node, len(pairs))}
	for _, p := range pairs {
		if !slices.Contains(known, p.key.text) {
			d.errorf(p.key, path, "unknown field %s; known are %s", quote(p.key.text), strings.Join(known, ", "))
			continue
		}
		o.fields[p.key.text] = p.value
	}
	return o
}

type pair struct{ key, value *node }

// pairs returns the entries of a mapping with keys that are text and stand there once.
func (d *decoder) pairs(n *node, path string) (pairs []pair, ok bool) {
	if n == nil {
		return nil, false
	}
	if n.kind != mapping {
		d.errorf(n, path, "must be a mapping, not %s", n)
		return nil, false
	}
	first := make(map[string]*node, len(n.kids)/2)
	for i := 0; i < len(n.kids); i += 2 {
		key := n.kids[i]
		before := first[key.text]
		switch {
		case !key.isText():
			d.errorf(key, path, "the key %s must be a string: put it in quotes", key)
		case before != nil:
			d.errorf(key, path, "%s stands here twice, first at %d:%d", quote(key.text), before.line, before.column)
		default:
			first[key.text] = key
			pairs = append(pairs, pair{key, n.kids[i+1]})
		}
	}
	return pairs, true
}

func (o *object) at(name string) string {
	if o.path == "" {
		return name
	}
	return o.path + "." + name
}

// get returns a field's value, nil if it is not there.
func (o *object) get(name string) *node { return o.fields[name] }

// require is get for a field that must be there.
func (o *object) require(name string) *node {
	n := o.get(name)
	if n == nil {
		o.d.errorf(o.node, o.path, "%s is missing", name)
	}
	return n
}

// refuse reports a field that must not be there.
func (o *object) refuse(name, why string) {
	if n := o.get(name); n != nil {
		o.d.errorf(n, o.at(name), "%s", why)
	}
}

// word returns the index of an optional field's value in words.
func (o *object) word(name string, words []string, missing int) int {
	n := o.get(name)
	if n == nil {
		return missing
	}
	i := slices.Index(words, n.text)
	if i < 0 || !n.isText() {
		o.d.errorf(n, o.at(name), "must be %s, not %s", strings.Join(words, " or "), n)
		return missing
	}
	return i
}

// integer returns an optional field's value, from 1 to most.
func (o *object) integer(name string, most, missing int64) int64 {
	if n := o.get(name); n != nil {
		return o.d.integer(n, o.at(name), 1, most, "")
	}
	return missing
}

// duration returns an optional field's value in a range.
func (o *object) duration(name string, least, most, missing time.Duration) time.Duration {
	if n := o.get(name); n != nil {
		return o.d.duration(n, o.at(name), least, most)
	}
	return missing
}

// has says that a mapping has the field.
func (n *node) has(field string) bool {
	for i := 0; n.kind == mapping && i < len(n.kids); i += 2 {
		if n.kids[i].text == field {
			return true
		}
	}
	return false
}
