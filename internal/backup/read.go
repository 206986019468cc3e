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

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
)

// Target receives the content of an archive. Any func may be nil.
type Target struct {
	// Key opens the key file of an encrypted backup. Without it, Read verifies only the checksum of
	// such a backup.
	Key func(file []byte) (*encryption.Key, error)
	// Header is called first. Its error stops Read.
	Header func(Header) error
	// File is called for each file of the data folder. It may read a part only.
	File func(name string, size int64, from io.Reader) error
	// Record is called for each database record, in ascending order of keys. It may keep both slices.
	Record func(key, value []byte) error
	// Change is called for each changed record of an increment instead. Read accepts an increment only
	// if there is Change, and then nothing else.
	Change func(key, value []byte, deleted bool) error
}

// Read reads an archive to its end. What it hands out is trusted only when it
// returns without an error. Errors of the target are returned as they are.
func Read(from io.Reader, to Target) (Header, error) {
	const op = "backup.Read"
	r := &reader{to: to, sum: sha256.New()}
	source := &senderReader{from: from}
	in := bufio.NewReader(source)
	sealed, err := openSealed(in, to)
	switch {
	case source.senderError() != nil:
		return Header{}, source.err
	case err != nil:
		return Header{}, err
	case sealed != nil && sealed.text == nil: // it cannot be decrypted
		if err = sealed.verify(); source.senderError() != nil {
			err = source.err
		}
		return sealed.Header, err
	case sealed != nil:
		in = bufio.NewReader(sealed.text)
	}
	gz, err := gzip.NewReader(in)
	switch {
	case source.senderError() != nil:
		return Header{}, source.err
	case err != nil && sealed != nil:
		return sealed.Header, damagedError(op, err)
	case err != nil:
		return Header{}, fault.New(fault.Invalid, op, "this is not a backup of percached: it is not compressed with gzip")
	}
	if err = r.readAll(gz); err == nil && sealed != nil {
		err = sealed.verify()
	}
	var target *targetError
	switch {
	case err == nil:
		return r.header, nil
	case errors.As(err, &target):
		return r.header, target.error
	case source.senderError() != nil: // the source failed
		return r.header, source.err
	case fault.KindOf(err) != fault.Internal:
		return r.header, err
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		err = errTruncated
	}
	return r.header, damagedError(op, err)
}

// Verify reads an archive to its end and returns its header.
func Verify(from io.Reader) (Header, error) { return Read(from, Target{}) }

// senderReader separates errors of the source from faults of the data.
type senderReader struct {
	from io.Reader
	err  error
}

func (s *senderReader) Read(p []byte) (int, error) {
	n, err := s.from.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// senderError returns why the source failed, or nil if the data just ended early.
func (s *senderReader) senderError() error {
	if s.err == io.ErrUnexpectedEOF {
		return nil
	}
	return s.err
}

// targetError is an error of the target.
type targetError struct{ error }

type reader struct {
	to     Target
	header Header
	seen   end
	sum    hash.Hash
	pieces int
	last   []byte // key
}

func (r *reader) readAll(gz *gzip.Reader) error {
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
			return err // also io.EOF: the end entry is missing
		}
		switch {
		case h.Typeflag != tar.TypeReg:
			return fmt.Errorf("%q is not a file", h.Name)
		case h.Name == endName:
			if err := r.finish(h, archive); err != nil {
				return err
			}
			return checkEnd(archive, gz)
		case strings.HasPrefix(h.Name, metaFolder):
			err = r.records(h, archive)
		case r.pieces == 0 && isDataFile(h.Name):
			err = r.file(h, archive)
		default:
			return fmt.Errorf("it contains the unexpected entry %q", h.Name)
		}
		if err != nil {
			return err
		}
	}
}

func (r *reader) begin(archive *tar.Reader) error {
	h, err := archive.Next()
	if errors.Is(err, tar.ErrHeader) || err == nil && h.Name != headerName {
		return fault.New(fault.Invalid, "backup.Read", "this is not a backup of percached: it does not begin with %s", headerName)
	}
	if err != nil {
		return err
	}
	if err := decode(h, archive, &r.header); err != nil {
		return err
	}
	return r.header.check(r.to)
}

// decode reads a JSON entry.
func decode(h *tar.Header, from io.Reader, v any) error {
	if h.Size > maxJSON {
		return fmt.Errorf("%s is too large", h.Name)
	}
	b, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return fmt.Errorf("%s is not valid JSON: %w", h.Name, err)
	}
	return nil
}

func (r *reader) file(h *tar.Header, from io.Reader) error {
	if tooLarge(h.Name, h.Size) {
		return fmt.Errorf("%s is too large", h.Name)
	}
	r.seen.Files++
	if r.to.File != nil {
		counted := &senderReader{from: from}
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

// records reads one entry of records.
func (r *reader) records(h *tar.Header, from io.Reader) error {
	r.pieces++
	if h.Name != fmt.Sprintf("%s%06d", metaFolder, r.pieces) || h.Size > maxPiece {
		return fmt.Errorf("it contains the unexpected entry %q", h.Name)
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
				return unexpectedEOF(err)
			}
			sizes[i] = n
		}
		if sizes[0] > maxKey || sizes[1] > maxValue || sizes[0]+sizes[1] > uint64(h.Size) {
			return errors.New("a record is longer than its piece")
		}
		key, value := make([]byte, sizes[0]), make([]byte, sizes[1])
		for _, b := range [][]byte{key, value} {
			if _, err := io.ReadFull(in, b); err != nil {
				return unexpectedEOF(err)
			}
		}
		if r.seen.Records > 0 && bytes.Compare(key, r.last) <= 0 {
			return errors.New("its records are not sorted")
		}
		r.last = append(r.last[:0], key...)
		r.seen.Records++
		if err := r.record(key, value); err != nil {
			return err
		}
	}
}

// record passes a record to the target.
func (r *reader) record(key, value []byte) error {
	var err error
	switch {
	case r.header.Increment:
		if len(value) == 0 || value[0] != changeSet && (value[0] != changeDeleted || len(value) > 1) {
			return errors.New("a change of it is neither a value nor a deletion")
		}
		err = r.to.Change(key, value[1:], value[0] == changeDeleted)
	case r.to.Record != nil:
		err = r.to.Record(key, value)
	}
	if err != nil {
		return &targetError{err}
	}
	return nil
}

// unexpectedEOF turns io.EOF within a record into io.ErrUnexpectedEOF.
func unexpectedEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// finish compares what was read with the end entry.
func (r *reader) finish(h *tar.Header, from io.Reader) error {
	var want end
	if err := decode(h, from, &want); err != nil {
		return err
	}
	if r.seen.SHA256 = hex.EncodeToString(r.sum.Sum(nil)); r.seen != want {
		return fmt.Errorf("it contains %d records and %d files instead of %d and %d, or its records differ", r.seen.Records, r.seen.Files, want.Records, want.Files)
	}
	return nil
}

// checkEnd reads to the end of the stream and verifies its checksum.
func checkEnd(archive *tar.Reader, gz *gzip.Reader) error {
	if _, err := archive.Next(); err != io.EOF {
		if err == nil {
			err = errors.New("it continues after its end")
		}
		return err
	}
	buf := make([]byte, 32<<10)
	for {
		n, err := gz.Read(buf)
		if len(bytes.Trim(buf[:n], "\x00")) > 0 {
			return errors.New("it continues after its end")
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
