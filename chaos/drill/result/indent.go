package result

import "bytes"

// indent breaks compact JSON into lines as people read it: a line for each field,
// and one for each array of plain values, however long. A series of thousands of
// figures stays one line, which a diff or a pager can bear.
func indent(compact []byte) []byte {
	in := indenter{src: compact}
	in.out.Grow(len(compact) + len(compact)/8)
	for in.at < len(in.src) {
		in.step()
	}
	return in.out.Bytes()
}

// indenter goes through compact JSON once.
type indenter struct {
	src   []byte
	at    int
	depth int
	out   bytes.Buffer
}

// step takes over one token, or one byte of a number or word.
func (in *indenter) step() {
	c := in.src[in.at]
	switch c {
	case '"':
		in.take(in.at + stringLength(in.src[in.at:]))
		return
	case '{', '[':
		if n := flatLength(in.src[in.at:]); n > 0 {
			in.take(in.at + n)
			return
		}
		in.depth++
	case '}', ']':
		in.depth--
		in.line()
	}
	in.take(in.at + 1)
	switch c {
	case '{', '[', ',':
		in.line()
	case ':':
		in.out.WriteByte(' ')
	}
}

func (in *indenter) take(to int) {
	in.out.Write(in.src[in.at:to])
	in.at = to
}

func (in *indenter) line() {
	in.out.WriteByte('\n')
	for range in.depth {
		in.out.WriteByte(' ')
	}
}

// stringLength is that of the string which b begins with, its quotes included.
func stringLength(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// flatLength is the length of the empty object or the array of numbers, words and
// nothing else that b begins with, and 0 if it begins with something else.
func flatLength(b []byte) int {
	if bytes.HasPrefix(b, []byte("{}")) {
		return len("{}")
	}
	if b[0] != '[' {
		return 0
	}
	n := bytes.IndexAny(b[1:], "\"[{]")
	if n < 0 || b[1+n] != ']' {
		return 0
	}
	return n + 2
}
