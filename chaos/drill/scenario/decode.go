package scenario

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// MaxBytes is the largest file of a scenario.
const MaxBytes = 1 << 18

// Error is one problem of a file.
type Error struct {
	File         string
	Line, Column int
	Message      string
}

// Error returns "file:line:column: message".
func (e *Error) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// decoder turns nodes of YAML into values and collects all problems. A value with
// a problem is returned as its zero, and the file is refused.
type decoder struct {
	file string
	errs []*Error
}

func (d *decoder) errorf(at *token.Token, path, format string, args ...any) {
	message := fmt.Sprintf(format, args...)
	if path != "" {
		message = path + ": " + message
	}
	d.errs = append(d.errs, &Error{d.file, at.Position.Line, at.Position.Column, message})
}

// err returns all problems in the order of their place.
func (d *decoder) err() error {
	slices.SortStableFunc(d.errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	all := make([]error, len(d.errs))
	for i, e := range d.errs {
		all[i] = e
	}
	return errors.Join(all...)
}

// root parses a file of one document, which is a mapping.
func (d *decoder) root(data []byte) (*ast.MappingNode, error) {
	if len(data) > MaxBytes {
		return nil, &Error{d.file, 1, 1, fmt.Sprintf("the scenario has %d bytes; the most is %d", len(data), MaxBytes)}
	}
	file, err := parser.ParseBytes(data, 0)
	var syntax yaml.Error
	if errors.As(err, &syntax) && syntax.GetToken() != nil {
		p := syntax.GetToken().Position
		return nil, &Error{d.file, p.Line, p.Column, syntax.GetMessage()}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", d.file, err)
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, &Error{d.file, 1, 1, "holds no scenario: expected apiVersion, name and more"}
	}
	if len(file.Docs) > 1 {
		at := file.Docs[1].GetToken().Position
		return nil, &Error{d.file, at.Line, at.Column, "a file holds one scenario"}
	}
	root, ok := file.Docs[0].Body.(*ast.MappingNode)
	if !ok {
		at := file.Docs[0].Body.GetToken().Position
		return nil, &Error{d.file, at.Line, at.Column, "a scenario must be a mapping"}
	}
	return root, nil
}

// object is a mapping with known fields.
type object struct {
	d      *decoder
	at     *token.Token
	path   string
	fields map[string]ast.Node
	keys   []string // in the order of the file
}

// object reads a mapping. Without known fields any may be there. It is nil if n
// is no mapping.
func (d *decoder) object(n ast.Node, path string, known ...string) *object {
	m, ok := n.(*ast.MappingNode)
	if !ok {
		if n != nil {
			d.errorf(n.GetToken(), path, "must be a mapping, not %s", kindOf(n))
		}
		return nil
	}
	o := &object{d: d, at: n.GetToken(), path: path, fields: map[string]ast.Node{}}
	for i, v := range m.Values {
		key := v.Key.GetToken()
		if i == 0 {
			o.at = key
		}
		switch _, twice := o.fields[key.Value]; {
		case twice:
			d.errorf(key, path, "%q stands here twice", key.Value)
		case len(known) > 0 && !slices.Contains(known, key.Value):
			d.errorf(key, path, "unknown field %q; known are %s", key.Value, strings.Join(known, ", "))
		default:
			o.fields[key.Value] = v.Value
			o.keys = append(o.keys, key.Value)
		}
	}
	return o
}

func (o *object) name(field string) string {
	if o.path == "" {
		return field
	}
	return o.path + "." + field
}

// get returns a field's value, and nil where it is not there.
func (o *object) get(field string) ast.Node { return o.fields[field] }

// require is get for a field that must be there.
func (o *object) require(field string) ast.Node {
	n, ok := o.fields[field]
	if !ok {
		o.d.errorf(o.at, o.path, "%s is missing", field)
	}
	return n
}

// text reads a string; n may be nil.
func (d *decoder) text(n ast.Node, path string) string {
	switch n := n.(type) {
	case nil:
		return ""
	case *ast.StringNode:
		return n.Value
	case *ast.LiteralNode:
		return n.Value.Value
	}
	d.errorf(n.GetToken(), path, "must be a string, not %s", kindOf(n))
	return ""
}

// integer reads a whole number in a range.
func (d *decoder) integer(n ast.Node, path string, least, most int64) int64 {
	if n == nil {
		return 0
	}
	if _, ok := n.(*ast.IntegerNode); ok {
		if v, err := strconv.ParseInt(n.GetToken().Value, 10, 64); err == nil && least <= v && v <= most {
			return v
		}
	}
	d.errorf(n.GetToken(), path, "must be a whole number from %d to %d, not %s", least, most, show(n))
	return 0
}

// number reads a number in a range.
func (d *decoder) number(n ast.Node, path string, least, most float64) float64 {
	if n == nil {
		return 0
	}
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode:
		if v, err := strconv.ParseFloat(n.GetToken().Value, 64); err == nil && least <= v && v <= most {
			return v
		}
	}
	d.errorf(n.GetToken(), path, "must be a number from %v to %v, not %s", least, most, show(n))
	return 0
}

// percent reads a share such as 95%.
func (d *decoder) percent(n ast.Node, path string, most float64) float64 {
	if n == nil {
		return 0
	}
	if digits, ok := strings.CutSuffix(n.GetToken().Value, "%"); ok {
		if v, err := strconv.ParseFloat(digits, 64); err == nil && 0 <= v && v <= 100*most {
			return v / 100
		}
	}
	d.errorf(n.GetToken(), path, "must be a share from 0%% to %v%%, not %s", 100*most, show(n))
	return 0
}

// duration reads one such as 1m30s.
func (d *decoder) duration(n ast.Node, path string, least, most time.Duration) time.Duration {
	if n == nil {
		return 0
	}
	if v, err := time.ParseDuration(n.GetToken().Value); err == nil && least <= v && v <= most {
		return v
	}
	d.errorf(n.GetToken(), path, "must be a duration from %v to %v, such as 10s, not %s", least, most, show(n))
	return 0
}

// boolean reads true or false.
func (d *decoder) boolean(n ast.Node, path string) bool {
	if n == nil {
		return false
	}
	b, ok := n.(*ast.BoolNode)
	if !ok {
		d.errorf(n.GetToken(), path, "must be true or false, not %s", show(n))
		return false
	}
	return b.Value
}

// word reads one of several words.
func (d *decoder) word(n ast.Node, path string, words ...string) string {
	if n == nil {
		return ""
	}
	s := n.GetToken().Value
	if !slices.Contains(words, s) {
		d.errorf(n.GetToken(), path, "must be one of %s, not %s", strings.Join(words, ", "), show(n))
		return ""
	}
	return s
}

// list reads a sequence.
func (d *decoder) list(n ast.Node, path string) []ast.Node {
	switch n := n.(type) {
	case nil:
		return nil
	case *ast.SequenceNode:
		return n.Values
	}
	d.errorf(n.GetToken(), path, "must be a list, not %s", kindOf(n))
	return nil
}

func kindOf(n ast.Node) string { return "a " + strings.ToLower(n.Type().YAMLName()) }

// show is a value as it stands in the file.
func show(n ast.Node) string {
	switch n.(type) {
	case *ast.MappingNode, *ast.SequenceNode:
		return kindOf(n)
	}
	return strconv.Quote(n.GetToken().Value)
}
