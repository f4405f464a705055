package bucket_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The simulator replays this package under its own time and compares it bit for bit, which holds only while
// nothing in it reads a clock, the machine or a float.
func TestPurity(t *testing.T) {
	allowed := map[string]bool{"errors": true, "fmt": true, "math": true, "math/bits": true, "time": true}
	forbidden := map[string]bool{
		"Now": true, "Since": true, "Until": true, "Sleep": true, "After": true, "NewTimer": true, "LoadLocation": true,
	}
	entries, err := os.ReadDir(".")
	require.NoError(t, err)
	seen := 0
	for _, e := range entries {
		name := e.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		seen++
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, imp := range file.Imports {
			path, err := strconv.Unquote(imp.Path.Value)
			require.NoError(t, err)
			assert.True(t, allowed[path], "%s imports %s", name, path)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				assert.Fail(t, "starts a goroutine", "%s", name)
			case *ast.Ident:
				assert.NotContains(t, []string{"float32", "float64"}, n.Name, name)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" {
					assert.False(t, forbidden[n.Sel.Name], "%s uses time.%s", name, n.Sel.Name)
				}
			}
			return true
		})
	}
	assert.Positive(t, seen)
}
