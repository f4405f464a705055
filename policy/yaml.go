package policy

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"
)

// The YAML of a policy is a small part of YAML: mappings with plain or quoted keys, sequences, and scalars
// on one line. Anchors, aliases, tags, merge keys, directives and block scalars are refused, each by name. That
// bounds every file by its own size (no alias can multiply it) and leaves one way to write a thing.
//
// The tokens come from goccy/go-yaml. The tree is built here, and every byte of the file accounted for, since a
// quota must not vanish without an error: the library's own parser drops a document that follows an empty one
// and takes "a:\n-\nb:" for one list, its lexer drops a tag at the end and a tab in the middle and
// miscounts columns, and a mapping of many keys takes it minutes.

const (
	space = " \n"

	// MaxBytes is the largest policy, as written and in canonical form.
	MaxBytes = 1 << 20

	maxDepth = 40 // a policy needs five levels, descriptors two for each of theirs
)

type kind uint8

const (
	null    kind = iota // nothing, ~ or null
	plain               // an unquoted scalar that YAML reads as text
	quoted              // a quoted scalar
	typed               // an unquoted scalar that YAML reads as a number or a boolean
	mapping             // key and value nodes by turns in kids
	list                // items in kids
)

// node is a piece of YAML with its position.
type node struct {
	kind         kind
	line, column int
	text         string // a scalar's text as written, unescaped
	kids         []*node
}

// text reports whether the scalar is a string by the rules of YAML.
func (n *node) isText() bool { return n.kind == plain || n.kind == quoted }

// parseYAML returns the root of each document that is not empty.
func parseYAML(file string, data []byte) (docs []*node, err *Error) {
	text, err := checkText(file, data)
	if err != nil {
		return nil, err
	}
	defer func() { // a panic below is a file refused, not a coordinator killed
		if r := recover(); r != nil {
			docs, err = nil, &Error{File: file, Line: 1, Column: 1, Message: fmt.Sprintf("not readable as YAML: %v", r)}
		}
	}()
	tokens := lexer.Tokenize(text)
	if t := tokens.InvalidToken(); t != nil {
		return nil, &Error{file, max(t.Position.Line, 1), max(t.Position.Column, 1), t.Error}
	}
	if err := locate(file, text, tokens); err != nil {
		return nil, err
	}
	p := &treeParser{file: file}
	p.tokens = slices.DeleteFunc(tokens, func(t *token.Token) bool { return t.Type == token.CommentType })
	for len(p.tokens) > 0 {
		if n := p.document(); n != nil {
			docs = append(docs, n)
		}
		if p.err != nil {
			return nil, p.err
		}
	}
	return docs, nil
}

// locate gives each token its true position, and returns an error at the first thing in the text that is in no
// token, or is taken for a comment and is none, or is a value on several lines.
func locate(file, text string, tokens token.Tokens) *Error {
	rest, line, column := text, 1, 1
	advance := func(n int) {
		if lines := strings.Count(rest[:n], "\n"); lines > 0 {
			line, column = line+lines, 1
		}
		column += utf8.RuneCountInString(rest[strings.LastIndexByte(rest[:n], '\n')+1 : n])
		rest = rest[n:]
	}
	skipSpace := func() { advance(len(rest) - len(strings.TrimLeft(rest, space))) }
	skipSpace()
	for _, t := range tokens {
		origin := strings.Trim(t.Origin, space)
		if t.Type == token.DoubleQuoteType { // its origin has some escapes resolved
			origin = rest[:quotedLen(rest)]
		}
		if strings.Contains(origin, "\n") {
			return &Error{file, line, column, "a value must end on its line: check the indentation of the next one"}
		}
		at := len(text) - len(rest)
		glued := t.Type == token.CommentType && at > 0 && !strings.Contains(space, text[at-1:at])
		if glued || !strings.HasPrefix(rest, origin) || !verbatim(t, origin) {
			break
		}
		t.Position = &token.Position{Line: line, Column: column}
		advance(len(origin))
		skipSpace()
	}
	if rest != "" {
		return &Error{file, line, column, "not understood as YAML"}
	}
	return nil
}

// verbatim reports whether a scalar's value is what stands in the file.
func verbatim(t *token.Token, origin string) bool {
	switch scalarKinds[t.Type] {
	case plain, typed:
		return t.Value == origin
	case quoted:
		return t.Type == token.DoubleQuoteType || "'"+strings.ReplaceAll(t.Value, "'", "''")+"'" == origin
	default:
		return true
	}
}

// quotedLen returns the length of the double-quoted string that s begins with, 0 if there is none.
func quotedLen(s string) int {
	for i := 1; i < len(s) && s[0] == '"'; i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// checkText refuses what is no text or too much of it, and unifies line ends.
func checkText(file string, data []byte) (string, *Error) {
	if len(data) > MaxBytes {
		return "", &Error{file, 1, 1, fmt.Sprintf("policy has %d bytes; the most is %d", len(data), MaxBytes)}
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	text = strings.ReplaceAll(text, "\r\n", "\n")
	line, column := 1, 1
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\ufffd"):
			return "", &Error{file, line, column, "not valid UTF-8"}
		case r == '\n':
			line, column = line+1, 0
		case r == '\t':
			return "", &Error{file, line, column, `a tab is not allowed; use spaces, or \t in double quotes`}
		case r < ' ', r >= 0x7f && r < 0xa0, r == 0xfeff:
			return "", &Error{file, line, column, fmt.Sprintf("control character %U is not allowed; write it as an escape in double quotes", r)}
		}
		column++
	}
	return text, nil
}
