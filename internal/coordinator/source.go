package coordinator

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/a1009580/leasehold/policy"
)

// bundled begins the content of a directory: no policy holds a NUL.
const bundled = "\x00files\x00"

// maxFiles is the most files of a directory.
const maxFiles = 1000

// ReadPolicy reads what is at path: a file, or all files of a directory whose names
// end in .yaml or .yml and do not begin with a dot, in the order of their names.
// Directories in it are not looked into. What it returns of a directory is for
// ParsePolicy alone.
func ReadPolicy(path string) ([]byte, error) {
	data, err := readLimited(path)
	if !errors.Is(err, syscall.EISDIR) {
		return data, err
	}
	names, err := policyFiles(path)
	if err != nil {
		return nil, err
	}
	files := make([]policy.File, 0, len(names))
	size := 0
	for _, name := range names {
		data, err := readLimited(name)
		if err != nil {
			return nil, err
		}
		if size += len(data); size > policy.MaxBytes {
			return nil, fmt.Errorf("%s: the files have more than %d bytes together", path, policy.MaxBytes)
		}
		files = append(files, policy.File{Name: name, Data: data})
	}
	text, err := json.Marshal(files)
	return append([]byte(bundled), text...), err
}

// readLimited reads a file, but not endlessly: one byte too many is refused by
// whoever parses it.
func readLimited(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, policy.MaxBytes+1))
	return data, errors.Join(err, f.Close())
}

// policyFiles lists the files of a directory that are read.
func policyFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if ext != ".yaml" && ext != ".yml" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		name := filepath.Join(dir, e.Name())
		info, err := os.Stat(name) // of what a link leads to
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went away meanwhile
		}
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return nil, fmt.Errorf("%s: there is no file whose name ends in .yaml or .yml", dir)
	case len(names) > maxFiles:
		return nil, fmt.Errorf("%s: there are %d files; the most is %d", dir, len(names), maxFiles)
	}
	slices.Sort(names)
	return names, nil
}

// ParsePolicy parses what ReadPolicy read; name stands for it in errors if it was
// one file. The errors of parsing are of type policy.Errors.
func ParsePolicy(name string, data []byte) (*policy.Set, error) {
	text, ok := bytes.CutPrefix(data, []byte(bundled))
	if !ok {
		return policy.Parse(name, data)
	}
	var files []policy.File
	if err := json.Unmarshal(text, &files); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return policy.ParseFiles(files)
}
