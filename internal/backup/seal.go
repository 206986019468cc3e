package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"hash"
	"io"

	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
)

// sealedMagic begins an encrypted backup.
const sealedMagic = "percached-encrypted-backup 1\n"

// IsSealed says whether a backup is encrypted. It consumes nothing.
func IsSealed(in *bufio.Reader) bool {
	head, _ := in.Peek(len(sealedMagic))
	return string(head) == sealedMagic
}

// Seal encrypts an archive. The zero value leaves it plain.
type Seal struct {
	Key  *encryption.Key
	File []byte // the key file that wraps it
}

// sealedHead is the second line of an encrypted backup.
type sealedHead struct {
	Header Header          `json:"header"`
	Key    json.RawMessage `json:"key"`
}

// begin writes what precedes the encrypted archive. It returns where to write the archive, and how to end it.
func (s Seal) begin(to io.Writer, h Header) (io.Writer, func() error, error) {
	head, err := json.Marshal(sealedHead{h, bytes.TrimSpace(s.File)})
	if err != nil {
		return nil, nil, err
	}
	sum := sha256.New()
	all := io.MultiWriter(to, sum)
	if _, err := all.Write(append(append([]byte(sealedMagic), head...), '\n')); err != nil {
		return nil, nil, err
	}
	w, err := encryption.NewWriter(all, s.Key)
	return w, func() error {
		if err := w.Close(); err != nil {
			return err
		}
		_, err := to.Write(sum.Sum(nil))
		return err
	}, err
}

// sealed is an encrypted backup that is read.
type sealed struct {
	Header
	body *summed
	text io.Reader // the archive; nil: there is no key
}

// openSealed returns nil for a plain backup.
func openSealed(in *bufio.Reader, to Target) (*sealed, error) {
	const op = "backup.Read"
	if !IsSealed(in) {
		return nil, nil
	}
	s := &sealed{body: &summed{from: in, sum: sha256.New()}}
	lines := bufio.NewReaderSize(io.LimitReader(in, int64(len(sealedMagic)+maxJSON)), 16)
	head := []byte{}
	for range 2 { // the first line is the magic
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil, damagedError(op, errTruncated)
		}
		s.body.sum.Write(line)
		head = line
	}
	s.body.from = io.MultiReader(bytes.NewReader(rest(lines)), in)
	var h sealedHead
	if err := json.Unmarshal(head, &h); err != nil {
		return nil, damagedError(op, errors.New("its header is not valid JSON"))
	}
	if err := h.Header.check(to); err != nil {
		if fault.KindOf(err) == fault.Internal {
			err = damagedError(op, err)
		}
		return nil, err
	}
	s.Header = h.Header
	if to.Key == nil {
		return s, nil
	}
	key, err := to.Key(h.Key)
	if err != nil {
		return nil, err
	}
	s.text = encryption.NewReader(s.body, key)
	return s, nil
}

// rest returns what a reader has read ahead.
func rest(r *bufio.Reader) []byte {
	b, _ := r.Peek(r.Buffered()) // it is in memory
	return bytes.Clone(b)
}

// verify reads to the end and compares the checksum.
func (s *sealed) verify() error {
	const op = "backup.Read"
	if _, err := io.Copy(io.Discard, s.body); err != nil {
		return err
	}
	switch {
	case len(s.body.ahead) < sha256.Size:
		return damagedError(op, errTruncated)
	case !bytes.Equal(s.body.ahead, s.body.sum.Sum(nil)):
		return damagedError(op, errors.New("it is truncated or does not match its checksum"))
	}
	return nil
}

// summed reads all but the checksum at the end.
type summed struct {
	from  io.Reader
	sum   hash.Hash
	ahead []byte // at the end: the checksum
	ended bool
}

// Read returns what is followed by a whole checksum.
func (s *summed) Read(p []byte) (int, error) {
	for !s.ended && len(s.ahead) <= sha256.Size {
		b := make([]byte, 32<<10)
		n, err := s.from.Read(b)
		s.ahead = append(s.ahead, b[:n]...)
		if err == io.EOF {
			s.ended = true
		} else if err != nil {
			return 0, err
		}
	}
	n := len(s.ahead) - sha256.Size
	if n <= 0 {
		return 0, io.EOF
	}
	n = copy(p, s.ahead[:n])
	s.sum.Write(s.ahead[:n])
	s.ahead = append(s.ahead[:0], s.ahead[n:]...)
	return n, nil
}

func newerFormat(found int) error {
	return fault.New(fault.Unsupported, "backup.Read", "the backup has format %d and this percached reads format %d; use a newer percached", found, incrementFormat)
}
