package backup

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"

	"github.com/percached/percached/internal/base/fault"
)

// Writer writes an archive: the header, then files, then records, then Close.
type Writer struct {
	gz    *gzip.Writer
	tar   *tar.Writer
	piece bytes.Buffer
	n     int // pieces
	end   end
	sum   hash.Hash
	// finish ends the encryption; nil: the archive is plain.
	finish func() error
}

// NewWriter starts an archive, which a seal with a key encrypts.
func NewWriter(w io.Writer, seal Seal, h Header) (*Writer, error) {
	switch {
	case h.Space != "":
		h.Format = spaceFormat
	case h.Increment:
		h.Format = incrementFormat
	default:
		h.Format = format
	}
	var finish func() error
	if seal.Key != nil {
		var err error
		if w, finish, err = seal.begin(w, h); err != nil {
			return nil, writeError("backup.NewWriter", err)
		}
	}
	gz, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return nil, fault.New(fault.Internal, "backup.NewWriter", "%w", err)
	}
	a := &Writer{gz: gz, tar: tar.NewWriter(gz), sum: sha256.New(), finish: finish}
	return a, a.json(headerName, h)
}

// File adds a file of exactly size bytes.
func (a *Writer) File(name string, size int64, from io.Reader) error {
	const op = "backup.File"
	if !isDataFile(name) {
		return fault.New(fault.Invalid, op, "%q does not belong in a backup", name)
	}
	if tooLarge(name, size) {
		return fault.New(fault.Invalid, op, "%s is too large for a backup", name)
	}
	a.end.Files++
	err := a.tar.WriteHeader(&tar.Header{Name: name, Size: size, Mode: 0o600, Typeflag: tar.TypeReg})
	if err == nil {
		var n int64
		if n, err = io.Copy(a.tar, io.LimitReader(from, size)); err == nil && n < size {
			err = fmt.Errorf("%s shrank while it was read", name)
		}
	}
	return writeError(op, err)
}

// Record adds a database record. The caller adds keys in ascending order.
func (a *Writer) Record(key, value []byte) error {
	if len(key) > maxKey || len(value) > maxValue {
		return fault.New(fault.Unsupported, "backup.Record", "the record of %d bytes is too large for a backup", len(value))
	}
	a.piece.Write(binary.AppendUvarint(nil, uint64(len(key))))
	a.piece.Write(binary.AppendUvarint(nil, uint64(len(value))))
	a.piece.Write(key)
	a.piece.Write(value)
	a.end.Records++
	if a.piece.Len() < pieceBytes {
		return nil
	}
	return a.flush()
}

// Change adds a changed record to an increment. The caller adds keys in ascending order.
func (a *Writer) Change(key, value []byte, deleted bool) error {
	if deleted {
		return a.Record(key, []byte{changeDeleted})
	}
	return a.Record(key, append([]byte{changeSet}, value...))
}

func (a *Writer) flush() error {
	if a.piece.Len() == 0 {
		return nil
	}
	a.n++
	a.sum.Write(a.piece.Bytes())
	err := a.put(fmt.Sprintf("%s%06d", metaFolder, a.n), a.piece.Bytes())
	a.piece.Reset()
	return err
}

// Close completes the archive. Without it the archive is invalid.
func (a *Writer) Close() error {
	if err := a.flush(); err != nil {
		return err
	}
	a.end.SHA256 = hex.EncodeToString(a.sum.Sum(nil))
	if err := a.json(endName, a.end); err != nil {
		return err
	}
	err := a.tar.Close()
	if err == nil {
		err = a.gz.Close()
	}
	if err == nil && a.finish != nil {
		err = a.finish()
	}
	return writeError("backup.Close", err)
}

func (a *Writer) json(name string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fault.New(fault.Internal, "backup.json", "%w", err)
	}
	return a.put(name, append(b, '\n'))
}

func (a *Writer) put(name string, b []byte) error {
	err := a.tar.WriteHeader(&tar.Header{Name: name, Size: int64(len(b)), Mode: 0o600, Typeflag: tar.TypeReg})
	if err == nil {
		_, err = a.tar.Write(b)
	}
	return writeError("backup.put", err)
}

func writeError(op string, err error) error {
	if err == nil {
		return nil
	}
	return fault.New(fault.Unavailable, op, "cannot write the backup: %w", err)
}
