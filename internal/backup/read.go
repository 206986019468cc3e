package backup

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// Target takes what an archive holds. Any func may be nil.
type Target struct {
	// Header is called first. Its error ends the reading.
	Header func(Header) error
	// File is called for each file of the data folder, and reads what it wants.
	File func(name string, size int64, from io.Reader) error
	// Record is called for each record of the database, in ascending order of the
	// keys. Both are the callee's.
	Record func(key, value []byte) error
}

// Read reads an archive to its end. What it hands out is trusted only when it
// returns without an error. Errors of the target are returned as they are.
func Read(from io.Reader, to Target) (Header, error) {
	const op = "backup.Read"
	r := &reader{to: to, sum: sha256.New()}
	source := &source{from: from}
	in := bufio.NewReader(source)
	gz, err := gzip.NewReader(in)
	switch {
	case source.failed() != nil:
		return Header{}, source.err
	case err != nil:
		return Header{}, fault.New(fault.Invalid, op, "this is no backup of percached: it is not compressed with gzip")
	}
	err = r.all(gz)
	var target *targetError
	switch {
	case err == nil:
		return r.header, nil
	case errors.As(err, &target):
		return r.header, target.error
	case source.failed() != nil: // of who sends it
		return r.header, source.err
	case fault.KindOf(err) != fault.Internal:
		return r.header, err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		err = errCut
	}
	return r.header, unfit(op, err)
}

// Verify reads an archive to its end, and gives its header.
func Verify(from io.Reader) (Header, error) { return Read(from, Target{}) }

// source keeps an error of who sends apart from faults of what is sent.
type source struct {
	from io.Reader
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// failed is why nothing came any more, unless it was just too short.
func (s *source) failed() error {
	if s.err == io.ErrUnexpectedEOF {
		return nil
	}
	return s.err
}

// targetError is an error of the target's.
type targetError struct{ error }

type reader struct {
	to     Target
	header Header
	seen   end
	sum    hash.Hash
	pieces int
	last   []byte // key
}

func (r *reader) all(gz *gzip.Reader) error {
	archive := tar.NewReader(gz)
	if err := r.begin(archive); err != nil {
		return err
	}
	if r.to.Header != nil {
		if err := r.to.Header(r.header); err != nil {
			return &targetError{err}
		}
	}
	for {
		h, err := archive.Next()
		if err != nil {
			return err // of io.EOF, too: the end comes before
		}
		switch {
		case h.Typeflag != tar.TypeReg:
			return fmt.Errorf("%q is not a file", h.Name)
		case h.Name == endName:
			if err := r.finish(h, archive); err != nil {
				return err
			}
			return rest(archive, gz)
		case strings.HasPrefix(h.Name, metaFolder):
			err = r.records(h, archive)
		case r.pieces == 0 && isFile(h.Name):
			err = r.file(h, archive)
		default:
			return fmt.Errorf("%q has no place in it", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func (r *reader) begin(archive *tar.Reader) error {
	h, err := archive.Next()
	if errors.Is(err, tar.ErrHeader) || err == nil && h.Name != headerName {
		return fault.New(fault.Invalid, "backup.Read", "this is no backup of percached: it does not begin with %s", headerName)
	}
	if err != nil {
		return err
	}
	if err := decode(h, archive, &r.header); err != nil {
		return err
	}
	if r.header.Format > format {
		return fault.New(fault.Unsupported, "backup.Read", "a newer percached made this backup (format %d, this one reads %d)", r.header.Format, format)
	}
	if r.header.Format < 1 {
		return errors.New("its header has no version")
	}
	return nil
}

// decode reads an entry of JSON.
func decode(h *tar.Header, from io.Reader, v any) error {
	if h.Size > maxJSON {
		return fmt.Errorf("%s is too large", h.Name)
	}
	b, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s cannot be read: %w", h.Name, err)
	}
	return nil
}

func (r *reader) file(h *tar.Header, from io.Reader) error {
	if tooLarge(h.Name, h.Size) {
		return fmt.Errorf("%s is too large", h.Name)
	}
	r.seen.Files++
	if r.to.File != nil {
		counted := &source{from: from}
		if err := r.to.File(h.Name, h.Size, counted); err != nil {
			if counted.err != nil {
				return counted.err
			}
			return &targetError{err}
		}
	}
	_, err := io.Copy(io.Discard, from)
	return err
}

// records reads a piece of meta.
func (r *reader) records(h *tar.Header, from io.Reader) error {
	r.pieces++
	if h.Name != fmt.Sprintf("%s%06d", metaFolder, r.pieces) || h.Size > maxPiece {
		return fmt.Errorf("%q has no place in it", h.Name)
	}
	in := bufio.NewReader(io.TeeReader(from, r.sum))
	for {
		if _, err := in.Peek(1); err == io.EOF {
			return nil
		}
		sizes := [2]uint64{}
		for i := range sizes {
			n, err := binary.ReadUvarint(in)
			if err != nil {
				return short(err)
			}
			sizes[i] = n
		}
		if sizes[0] > maxKey || sizes[1] > maxValue || sizes[0]+sizes[1] > uint64(h.Size) {
			return errors.New("a record is longer than its piece")
		}
		key, value := make([]byte, sizes[0]), make([]byte, sizes[1])
		for _, b := range [][]byte{key, value} {
			if _, err := io.ReadFull(in, b); err != nil {
				return short(err)
			}
		}
		if r.seen.Records > 0 && bytes.Compare(key, r.last) <= 0 {
			return errors.New("its records are in disorder")
		}
		r.last = append(r.last[:0], key...)
		r.seen.Records++
		if r.to.Record != nil {
			if err := r.to.Record(key, value); err != nil {
				return &targetError{err}
			}
		}
	}
}

// short is why a record could not be read to its end.
func short(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// finish holds what was read against what was written.
func (r *reader) finish(h *tar.Header, from io.Reader) error {
	var want end
	if err := decode(h, from, &want); err != nil {
		return err
	}
	if r.seen.SHA256 = hex.EncodeToString(r.sum.Sum(nil)); r.seen != want {
		return fmt.Errorf("it has %d records and %d files where %d and %d were written, or other ones", r.seen.Records, r.seen.Files, want.Records, want.Files)
	}
	return nil
}

// rest reads to the end of all, where the checksum is.
func rest(archive *tar.Reader, gz *gzip.Reader) error {
	if _, err := archive.Next(); err != io.EOF {
		if err == nil {
			err = errors.New("something follows its end")
		}
		return err
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := gz.Read(buf)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return errors.New("something follows its end")
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
