package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
	"github.com/spf13/pflag"
)

// fromFile sets the flags that have no value yet. The file is one mapping from
// names of flags to values; everything else in it is an error with its place.
func fromFile(fs *pflag.FlagSet, path string, data []byte) error {
	at := func(t *token.Token, format string, args ...any) error {
		return fmt.Errorf("%s:%d:%d: %s", path, t.Position.Line, t.Position.Column, fmt.Sprintf(format, args...))
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		var syntax yaml.Error
		if errors.As(err, &syntax) && syntax.GetToken() != nil {
			return at(syntax.GetToken(), "%s", syntax.GetMessage())
		}
		return fmt.Errorf("%s: %w", path, err)
	}
	given := map[string]bool{} // by flag or environment: they go first
	fs.Visit(func(f *pflag.Flag) { given[f.Name] = true })
	for i, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		options, ok := doc.Body.(*ast.MappingNode)
		if i > 0 || !ok {
			return at(doc.Body.GetToken(), "the file must be one mapping of options to values")
		}
		for _, option := range options.Values {
			name := option.Key.GetToken()
			f := fs.Lookup(name.Value)
			if f == nil || name.Value == configFlag || name.Value == "help" || name.Value == "version" {
				return at(name, "unknown option %q", name.Value)
			}
			value, err := scalar(option.Value)
			if err != nil {
				return at(name, "%s: %v", name.Value, err)
			}
			if given[f.Name] {
				continue
			}
			if err := fs.Set(f.Name, value); err != nil {
				return at(name, "%s: %v", name.Value, err)
			}
		}
	}
	return nil
}

// scalar returns a value as it would be written on the command line.
func scalar(n ast.Node) (string, error) {
	switch n := n.(type) {
	case *ast.StringNode:
		return n.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	case *ast.SequenceNode:
		var items []string
		for _, v := range n.Values {
			s, err := scalar(v)
			if err != nil {
				return "", err
			}
			items = append(items, s)
		}
		return strings.Join(items, ","), nil
	default:
		return "", fmt.Errorf("must be a value or a list of values, not %s", strings.ToLower(n.Type().String()))
	}
}
