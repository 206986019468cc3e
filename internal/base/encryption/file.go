package encryption

import (
	"bytes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"sync"
)

const (
	magic     = "pcenc001"
	fileSalt  = 24
	headBytes = int64(len(magic) + fileSalt)
	pieceText = 64 << 10 // bytes of a file in one piece
	tagBytes  = 16
	pieceSize = pieceText + tagBytes
)

// ErrDamaged says that an encrypted file is not as it was written, or belongs to another folder.
var ErrDamaged = errors.New("the encrypted file is damaged, or belongs to another data folder")

// pieces encrypts the pieces of one file.
type pieces struct{ aead cipher.AEAD }

func (k *Key) pieces(salt []byte) (pieces, error) {
	aead, err := newAEAD(Subkey(k.Derive("files"), salt, "file"))
	return pieces{aead}, err
}

func nonce(n uint64, last bool) []byte {
	b := make([]byte, 12)
	binary.BigEndian.PutUint64(b[3:], n)
	if last {
		b[11] = 1
	}
	return b
}

// Writer encrypts a file. Without Close the file is damaged.
type Writer struct {
	to     io.Writer
	pieces pieces
	head   []byte // not written yet
	text   []byte // of the piece that is not full
	n      uint64
}

// NewWriter starts an encrypted file.
func NewWriter(to io.Writer, k *Key) (*Writer, error) {
	salt := make([]byte, fileSalt)
	rand.Read(salt)
	p, err := k.pieces(salt)
	return &Writer{to: to, pieces: p, head: append([]byte(magic), salt...), text: make([]byte, 0, pieceSize)}, err
}

// Write encrypts b. It writes what fills a piece.
func (w *Writer) Write(b []byte) (written int, err error) {
	for len(b) > 0 {
		if len(w.text) == pieceText { // more follows, so it is not the last one
			if err := w.piece(false); err != nil {
				return written, err
			}
		}
		n := min(len(b), pieceText-len(w.text))
		w.text = append(w.text, b[:n]...)
		b, written = b[n:], written+n
	}
	return written, nil
}

func (w *Writer) piece(last bool) error {
	if w.head != nil {
		if _, err := w.to.Write(w.head); err != nil {
			return err
		}
		w.head = nil
	}
	_, err := w.to.Write(w.pieces.aead.Seal(w.text[:0], nonce(w.n, last), w.text, nil))
	w.text = w.text[:0]
	w.n++
	return err
}

// Close writes the last piece. It does not close the file below.
func (w *Writer) Close() error { return w.piece(true) }

// File reads an encrypted file. It is safe for concurrent use.
type File struct {
	from   io.ReaderAt
	pieces pieces
	count  int64 // pieces
	size   int64 // bytes of the content

	mu   sync.Mutex
	text []byte // of the piece at
	at   int64
}

// NewFile opens an encrypted file of size bytes.
func NewFile(from io.ReaderAt, size int64, k *Key) (*File, error) {
	head := make([]byte, headBytes)
	if _, err := from.ReadAt(head, 0); errors.Is(err, io.EOF) && size < headBytes {
		return nil, ErrDamaged
	} else if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	body := size - headBytes
	rest := body % pieceSize
	if !bytes.HasPrefix(head, []byte(magic)) || body < tagBytes || rest > 0 && rest < tagBytes {
		return nil, ErrDamaged
	}
	p, err := k.pieces(head[len(magic):])
	if err != nil {
		return nil, err
	}
	count := (body + pieceSize - 1) / pieceSize
	return &File{from: from, pieces: p, count: count, size: body - count*tagBytes, at: -1}, nil
}

// Size is the size of the content.
func (f *File) Size() int64 { return f.size }

// ReadAt reads the content.
func (f *File) ReadAt(b []byte, off int64) (n int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for n < len(b) {
		if off >= f.size {
			if f.size == 0 { // only the tag says that it was empty
				if err := f.load(0); err != nil {
					return 0, err
				}
			}
			return n, io.EOF
		}
		if err := f.load(off / pieceText); err != nil {
			return n, err
		}
		m := copy(b[n:], f.text[off%pieceText:])
		n, off = n+m, off+int64(m)
	}
	return n, nil
}

// load decrypts a piece.
func (f *File) load(piece int64) error {
	if f.at == piece {
		return nil
	}
	f.at = -1
	last := piece == f.count-1
	size := int64(pieceSize)
	if last {
		size = f.size + f.count*tagBytes - piece*pieceSize
	}
	b := make([]byte, size)
	if n, err := f.from.ReadAt(b, headBytes+piece*pieceSize); int64(n) < size {
		if errors.Is(err, io.EOF) {
			return ErrDamaged
		}
		return err
	}
	text, err := f.pieces.aead.Open(b[:0], nonce(uint64(piece), last), b, nil)
	if err != nil {
		return ErrDamaged
	}
	f.text, f.at = text, piece
	return nil
}

// Reader decrypts an encrypted file from its start, whose size need not be known. It returns no byte that
// was not checked, and io.EOF only after the last piece.
type Reader struct {
	from   io.Reader
	key    *Key
	pieces pieces
	next   []byte // the piece that was read ahead, encrypted
	text   []byte // decrypted, not returned yet
	n      uint64
	state  error
	begun  bool
}

// NewReader reads an encrypted file.
func NewReader(from io.Reader, k *Key) *Reader { return &Reader{from: from, key: k} }

// Read decrypts.
func (r *Reader) Read(b []byte) (int, error) {
	for len(r.text) == 0 {
		if r.state != nil {
			return 0, r.state
		}
		r.state = r.advance()
	}
	n := copy(b, r.text)
	r.text = r.text[n:]
	return n, nil
}

// advance decrypts the next piece. After the last one it returns io.EOF.
func (r *Reader) advance() error {
	if !r.begun {
		head := make([]byte, headBytes)
		if _, err := io.ReadFull(r.from, head); err != nil {
			return endOf(err)
		}
		if !bytes.HasPrefix(head, []byte(magic)) {
			return ErrDamaged
		}
		var err error
		if r.pieces, err = r.key.pieces(head[len(magic):]); err != nil {
			return err
		}
		if r.next, err = r.piece(); err != nil {
			return err
		}
		r.begun = true
	}
	this := r.next
	var err error
	if r.next, err = r.piece(); err != nil {
		return err
	}
	last := len(r.next) == 0
	if r.text, err = r.pieces.aead.Open(nil, nonce(r.n, last), this, nil); err != nil {
		return ErrDamaged
	}
	r.n++
	if last {
		return io.EOF
	}
	return nil
}

// piece reads a piece; none at the end.
func (r *Reader) piece() ([]byte, error) {
	b := make([]byte, pieceSize)
	n, err := io.ReadFull(r.from, b)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, err
	}
	return b[:n], nil
}

// endOf says that a file which ended too early is damaged.
func endOf(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return ErrDamaged
	}
	return err
}

// Copy encrypts a whole file. With a nil key it copies it as it is.
func (k *Key) Copy(to io.Writer, from io.Reader) error {
	if k == nil {
		_, err := io.Copy(to, from)
		return err
	}
	w, err := NewWriter(to, k)
	if err == nil {
		_, err = io.Copy(w, from)
	}
	if err == nil {
		err = w.Close()
	}
	return err
}
