package lines

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Line is a line that is not blank.
type Line struct {
	Number int    // from 1, blank lines included
	Text   []byte // without surrounding space; valid until the next line is read
	Long   bool   // the line is too long, and Text is empty
}

// Read returns the lines that are not blank. It ends at an error.
func Read(in io.Reader, longest int) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		from := bufio.NewReader(in)
		var held []byte
		for n := 1; ; n++ {
			text, err := next(from, held[:0], longest)
			if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, errLong) {
				yield(Line{}, fmt.Errorf("cannot read from line %d on: %w", n, err))
				return
			}
			held = text
			if n == 1 {
				text = bytes.TrimPrefix(text, []byte("\ufeff"))
			}
			l := Line{Number: n, Text: bytes.TrimSpace(text), Long: errors.Is(err, errLong)}
			if (l.Long || len(l.Text) > 0) && !yield(l, nil) || errors.Is(err, io.EOF) {
				return
			}
		}
	}
}

var errLong = errors.New("the line is too long")

// next appends a line to held; it returns no text of a line that is too long.
func next(from *bufio.Reader, held []byte, longest int) ([]byte, error) {
	long := false
	for {
		part, err := from.ReadSlice('\n')
		if long = long || len(held)+len(part) > longest; long {
			held = held[:0]
		} else {
			held = append(held, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || errors.Is(err, io.EOF)):
			return held, errors.Join(errLong, err)
		default:
			return held, err
		}
	}
}

// Object parses a line as a JSON object. An error has no text of the line.
func Object(text []byte) (map[string]json.RawMessage, error) {
	var fields map[string]json.RawMessage
	switch {
	case !utf8.Valid(text):
		return nil, errors.New("not UTF-8")
	case json.Unmarshal(text, &fields) != nil || fields == nil:
		return nil, errors.New("not a JSON object")
	}
	return fields, nil
}

// Open opens a file, and decompresses it if it is compressed, whatever its name.
func Open(path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	from := bufio.NewReader(f)
	if head, _ := from.Peek(2); !bytes.Equal(head, []byte{0x1f, 0x8b}) {
		return &opened{from, f}, nil // an error returns with the first byte that is read
	}
	z, err := gzip.NewReader(from)
	if err != nil {
		_ = f.Close() // nothing was written
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &opened{z, f}, nil
}

type opened struct {
	io.Reader
	io.Closer
}

// Walk calls do for a file, or for every file below a folder, with its name there. It
// calls hidden for skipped names.
func Walk(root string, hidden func(name string), do func(path, name string) error) error {
	info, err := os.Stat(root)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return do(root, filepath.Base(root))
	}
	if root, err = filepath.EvalSymlinks(root); err != nil { // WalkDir follows no link
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != root && strings.HasPrefix(d.Name(), "."):
			hidden(d.Name())
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return do(path, filepath.ToSlash(name))
	})
}
