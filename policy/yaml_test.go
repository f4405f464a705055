package policy

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// FuzzYAML compares the tree of a document with that of another YAML library, wherever both accept it. Only one
// document, because the other reads no more.
func FuzzYAML(f *testing.F) {
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		f.Add(read(f, file))
	}
	for text := range trees {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1000 || bytes.Contains(data, []byte("---")) || bytes.Contains(data, []byte("...")) {
			return
		}
		docs, problem := parseYAML("f", data)
		var theirs yaml.Node
		if problem != nil || len(docs) != 1 || yaml.Unmarshal(data, &theirs) != nil || theirs.Kind == 0 {
			return
		}
		equal(t, ourTree(docs[0]), theirTree(&theirs))
	})
}

// trees are documents and what they mean, "" if they are refused. The refused ones are YAML of some sort, or
// tokens that the lexer takes for something that they are not.
var trees = map[string]string{
	"a:\n- b\n- - c\n  - d\ne: {f: [g, h], i: }\n": `{"a": ["b", ["c", "d"]], "e": {"f": ["g", "h"], "i": null}}`,
	"- a: 1\n  b:\n  - x\n- c":                     `[{"a": "1", "b": ["x"]}, "c"]`,
	"'a': \"\\u00e9\\n\"\n":                        `{"a": "é\n"}`,
	"\"a b\" : 'it''s'":                            `{"a b": "it's"}`,
	"e:\n\nf: ~\n":                                 `{"e": null, "f": null}`,
	"{a: 1, \"b\":2,\n c: [x\n, y,] }":             `{"a": "1", "b": "2", "c": ["x", "y"]}`,
	"a: # c\n  b: c # d\n# e\n  f: g#h\n":          `{"a": {"b": "c", "f": "g#h"}}`,
	"- \n- a\n-\n  b: c\n":                         `[null, "a", {"b": "c"}]`,
	"\ufeffa: 1\r\nb: 2\r\n":                       `{"a": "1", "b": "2"}`,
	"0:\n-\n0:":                                    `{"0": [null], "0": null}`,
	"---\n# x\n---\nb: 2\n---\n":                   `{"b": "2"}`,
	"a: b\n...\n":                                  `{"a": "b"}`,
	"  0:\n 0  \n":                                 "",
	"a: !0":                                        "",
	"?":                                            "",
	"00\t0":                                        "",
	"000\n:":                                       "",
	"{0:0}":                                        "",
	"{a: http://x}":                                `{"a": "http://x"}`,
	"0\n...#0":                                     "",
	"\"\\ \n\"":                                    "",
	"a: \"x\"#c":                                   "",
	"a: b\n  c":                                    "",
	"a: 'b\n  c'":                                  "",
	"a: ,b":                                        "",
	"a: }":                                         "",
	"a: [b, , c]":                                  "",
	"a: {b: c}\n  d: e":                            "",
	"a: *b c":                                      "",
}

func TestTrees(t *testing.T) {
	for text, want := range trees {
		docs, err := parseYAML("f", []byte(text))
		if want == "" {
			if err == nil {
				t.Errorf("%q: %s, want an error", text, ourTree(docs[0]))
			}
			continue
		}
		if err != nil || len(docs) != 1 || ourTree(docs[0]) != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func ourTree(n *node) string {
	var parts []string
	for i := 0; i < len(n.kids); i++ {
		part := ourTree(n.kids[i])
		if n.kind == mapping {
			i++
			part += ": " + ourTree(n.kids[i])
		}
		parts = append(parts, part)
	}
	switch n.kind {
	case null:
		return "null"
	case mapping:
		return "{" + strings.Join(parts, ", ") + "}"
	case list:
		return "[" + strings.Join(parts, ", ") + "]"
	default:
		return fmt.Sprintf("%q", n.text)
	}
}

func theirTree(n *yaml.Node) string {
	var parts []string
	for i := 0; i < len(n.Content); i++ {
		part := theirTree(n.Content[i])
		if n.Kind == yaml.MappingNode {
			i++
			part += ": " + theirTree(n.Content[i])
		}
		parts = append(parts, part)
	}
	switch {
	case n.Kind == yaml.DocumentNode:
		return parts[0]
	case n.Kind == yaml.MappingNode:
		return "{" + strings.Join(parts, ", ") + "}"
	case n.Kind == yaml.SequenceNode:
		return "[" + strings.Join(parts, ", ") + "]"
	case n.Tag == "!!null":
		return "null"
	}
	return fmt.Sprintf("%q", n.Value)
}

// TestHostileSize checks that the largest file, of whatever sort, is read in time in proportion to its size.
// The bound is generous: what it must catch takes minutes.
func TestHostileSize(t *testing.T) {
	for name, text := range map[string]string{
		"mapping":   strings.Repeat("a: 1\n", 200_000),
		"keys":      strings.Repeat("a:\n", 300_000),
		"list":      strings.Repeat("- \n", 300_000),
		"dashes":    strings.Repeat("- ", 500_000),
		"brackets":  strings.Repeat("[", 1_000_000),
		"braces":    strings.Repeat("{a: ", 250_000),
		"documents": strings.Repeat("---\n", 250_000),
		"comments":  strings.Repeat("#\n", 500_000),
		"flow":      "{" + strings.Repeat("b: 1, ", 170_000) + "}",
		"anchors":   strings.Repeat("&a ", 300_000),
		"tags":      strings.Repeat("!a ", 300_000),
		"questions": strings.Repeat("? ", 500_000),
		"colons":    strings.Repeat("a: ", 300_000),
		"string":    "a: \"" + strings.Repeat(`\n`, 500_000) + `"`,
		"indent":    strings.Repeat(" ", 1_000_000) + "a",
	} {
		start := time.Now()
		_, err := Parse(name, []byte(text))
		if took := time.Since(start); err == nil || took > 20*time.Second {
			t.Errorf("%s: %v after %v", name, err, took)
		}
	}
	if _, err := Parse("big", make([]byte, MaxBytes+1)); err == nil || !strings.Contains(err.Error(), "the most is 1048576") {
		t.Error(err)
	}
}
