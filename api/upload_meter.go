package api

import (
	"errors"
	"io"
)

// meter is a body while something parses it. It remembers why it could not be
// read on, for parsers hide that in errors of their own; and it bounds what is
// read in one go, where a parser keeps all of that in memory.
type meter struct {
	in    io.Reader
	bound bool
	left  int64 // bytes that may be read, if bound
	err   error // why reading failed; not its end
	over  bool  // more was wanted than the bound allowed
}

// errBound: more is wanted than may be read in one go.
var errBound = errors.New("api: too much in one piece")

// allow bounds what is read from now on.
func (m *meter) allow(n int64) { m.bound, m.left = true, n }

// free lifts the bound.
func (m *meter) free() { m.bound = false }

func (m *meter) Read(p []byte) (int, error) {
	if m.bound {
		if m.left <= 0 {
			m.over = true
			return 0, errBound
		}
		p = p[:min(int64(len(p)), m.left)]
	}
	n, err := m.in.Read(p)
	m.left -= int64(n)
	if err != nil && err != io.EOF {
		m.err = err
	}
	return n, err
}
