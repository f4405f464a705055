package policy

import (
	"strings"

	"github.com/goccy/go-yaml/token"
)

// flow returns a {mapping}, a [list] or a scalar.
func (p *treeParser) flow(depth int) *node {
	if p.err != nil {
		return nil
	}
	switch p.peek(0).Type {
	case token.MappingStartType:
		return p.flowItems(mapping, depth, token.MappingEndType, "}")
	case token.SequenceStartType:
		return p.flowItems(list, depth, token.SequenceEndType, "]")
	}
	return p.scalar()
}

// flowItems reads up to the closing bracket. A comma may follow the last item.
func (p *treeParser) flowItems(k kind, depth int, closing token.Type, bracket string) *node {
	n := p.open(k, depth)
	start := p.next()
	for p.err == nil && p.peek(0).Type != closing {
		if atEnd(p.peek(0)) {
			return p.fail(start, "%s is never closed with %s", start.Value, bracket)
		}
		if k == mapping {
			n.kids = append(n.kids, p.key(), p.flowValue(depth))
		} else {
			n.kids = append(n.kids, p.flow(depth+1))
		}
		switch t := p.peek(0); {
		case p.err != nil:
			return nil
		case t.Type == token.CollectEntryType:
			p.next()
		case t.Type != closing && !atEnd(t):
			return p.fail(t, "expected ',' or '%s' at %s", bracket, show(t))
		}
	}
	if p.err == nil {
		p.next()
	}
	return n
}

// flowValue is the value after a colon in a {mapping}: null where it was left out.
func (p *treeParser) flowValue(depth int) *node {
	switch t := p.peek(0); t.Type {
	case token.CollectEntryType, token.MappingEndType:
		return &node{kind: null, line: t.Position.Line, column: t.Position.Column}
	}
	return p.flow(depth + 1)
}

var scalarKinds = map[token.Type]kind{
	token.StringType:      plain,
	token.SingleQuoteType: quoted, token.DoubleQuoteType: quoted,
	token.NullType: null, token.ImplicitNullType: null,
	token.IntegerType: typed, token.BinaryIntegerType: typed, token.OctetIntegerType: typed, token.HexIntegerType: typed,
	token.FloatType: typed, token.InfinityType: typed, token.NanType: typed, token.BoolType: typed,
}

func isScalar(t *token.Token) bool {
	_, ok := scalarKinds[t.Type]
	return ok
}

// scalar reads one scalar, or refuses the token by name.
func (p *treeParser) scalar() *node {
	t := p.peek(0)
	n := &node{line: t.Position.Line, column: t.Position.Column, text: t.Value}
	switch n.kind = scalarKinds[t.Type]; t.Type {
	case token.StringType:
		if n.text == "" || n.text == "-" || strings.ContainsAny(n.text[:1], "{}[],?:") {
			return p.fail(t, "unexpected %s: put it in quotes", show(t))
		}
	case token.AliasType:
		return p.fail(t, `aliases are not allowed; a star stands in quotes: "*"`)
	case token.AnchorType, token.TagType, token.MergeKeyType, token.DirectiveType, token.LiteralType, token.FoldedType, token.MappingKeyType:
		return p.fail(t, "%s is not allowed: no anchors, tags, merge keys, directives, block scalars or explicit keys", show(t))
	default:
		if !isScalar(t) {
			return p.fail(t, "unexpected %s", show(t))
		}
	}
	p.next()
	return n
}

// show names a token in an error.
func show(t *token.Token) string {
	if atEnd(t) {
		return "the end of the document"
	}
	return quote(strings.TrimSpace(t.Value))
}
