package policy

import (
	"fmt"

	"github.com/goccy/go-yaml/token"
)

// treeParser builds the nodes of one file from its tokens by recursive descent. The first syntax error
// ends it: every method returns nil at once when err is set.
type treeParser struct {
	file   string
	tokens token.Tokens // what is left, without comments
	err    *Error
}

// end closes every document, so that the parser need not ask whether there is a next token.
var end = &token.Token{Type: token.DocumentEndType, Position: &token.Position{}}

func (p *treeParser) peek(i int) *token.Token {
	if i < len(p.tokens) {
		return p.tokens[i]
	}
	return end
}

func (p *treeParser) next() *token.Token {
	t := p.peek(0)
	p.tokens = p.tokens[1:]
	return t
}

func (p *treeParser) fail(t *token.Token, format string, args ...any) *node {
	if p.err == nil {
		line, column := max(t.Position.Line, 1), max(t.Position.Column, 1)
		p.err = &Error{p.file, line, column, fmt.Sprintf(format, args...)}
	}
	return nil
}

func atEnd(t *token.Token) bool {
	return t.Type == token.DocumentHeaderType || t.Type == token.DocumentEndType
}

// document returns the next document's root, or nil for an empty document.
func (p *treeParser) document() *node {
	for len(p.tokens) > 0 && atEnd(p.peek(0)) {
		if t := p.next(); !atEnd(p.peek(0)) && p.peek(0).Position.Line == t.Position.Line {
			return p.fail(p.peek(0), "the %s line must stand alone", t.Value)
		}
	}
	if len(p.tokens) == 0 {
		return nil
	}
	root := p.block(0, 0)
	if t := p.peek(0); p.err == nil && !atEnd(t) {
		return p.fail(t, "unexpected %s: check the indentation", show(t))
	}
	return root
}

// block returns the value that begins at the next token: a mapping or sequence in block style, or
// whatever flow returns. line is that of the key before it (0 if none): on it no block mapping may begin.
func (p *treeParser) block(depth, line int) *node {
	t := p.peek(0)
	switch {
	case p.err != nil:
		return nil
	case t.Type == token.SequenceEntryType && t.Position.Line == line:
		return p.fail(t, "a list must begin on a line of its own")
	case t.Type == token.SequenceEntryType:
		return p.blockList(depth)
	case p.peek(1).Type == token.MappingValueType && t.Position.Line == line:
		return p.fail(p.peek(1), "a second ':' on one line: quote the value, or write {key: value}")
	case p.peek(1).Type == token.MappingValueType:
		return p.blockMap(depth)
	}
	return p.flow(depth)
}

func (p *treeParser) blockMap(depth int) *node {
	n := p.open(mapping, depth)
	column := p.peek(0).Position.Column
	for p.err == nil {
		t := p.peek(0)
		if atEnd(t) || t.Position.Column < column {
			break
		}
		if t.Position.Column > column {
			return p.fail(t, "unexpected %s: check the indentation", show(t))
		}
		key := p.key()
		if p.err != nil {
			return nil
		}
		n.kids = append(n.kids, key, p.after(t, depth, column))
	}
	return n
}

// key reads a key and its colon.
func (p *treeParser) key() *node {
	t, key := p.peek(0), p.scalar()
	if p.err != nil {
		return nil
	}
	if colon := p.peek(0); colon.Type != token.MappingValueType || colon.Position.Line != key.line {
		return p.fail(t, "expected 'key: value' at %s", show(t))
	}
	colon := p.next()
	if v := p.peek(0); key.kind != quoted && v.Position.Line == colon.Position.Line && v.Position.Column == colon.Position.Column+1 {
		return p.fail(colon, "a space is missing after ':'; a value with a ':' stands in quotes")
	}
	return key
}

func (p *treeParser) blockList(depth int) *node {
	n := p.open(list, depth)
	column := p.peek(0).Position.Column
	for p.err == nil {
		t := p.peek(0)
		if atEnd(t) || t.Position.Column < column || t.Type != token.SequenceEntryType && t.Position.Column == column {
			break
		}
		if t.Type != token.SequenceEntryType || t.Position.Column > column {
			return p.fail(t, "unexpected %s: check the indentation", show(t))
		}
		n.kids = append(n.kids, p.after(p.next(), depth, column))
	}
	return n
}

// after returns the value of the key or dash t, whose block begins at column: what follows on its line,
// or is indented below it, or null.
func (p *treeParser) after(t *token.Token, depth, column int) *node {
	isKey := t.Type != token.SequenceEntryType
	v := p.peek(0)
	switch at := v.Position; {
	case atEnd(v):
	case at.Line == t.Position.Line && isKey:
		return p.block(depth+1, at.Line)
	case at.Line == t.Position.Line, at.Column > column:
		return p.block(depth+1, 0)
	case isKey && v.Type == token.SequenceEntryType && at.Column == column:
		return p.blockList(depth + 1)
	}
	return &node{kind: null, line: t.Position.Line, column: t.Position.Column}
}

// open returns an empty mapping or list at the next token.
func (p *treeParser) open(k kind, depth int) *node {
	t := p.peek(0)
	if depth > maxDepth {
		p.fail(t, "nested more than %d deep", maxDepth)
	}
	return &node{kind: k, line: t.Position.Line, column: t.Position.Column}
}
