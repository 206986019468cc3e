package inbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"regexp"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/ingest"
)

const (
	version = 2
	maxName = 1024 // bytes of a file's name
	maxKey  = 256  // bytes of a key
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
	idForm     = regexp.MustCompile(`^[0-9a-f]{32}$`)

	errDamaged = errors.New("it is damaged")
	errNewer   = errors.New("it was written by a newer percached")
)

// digest is a SHA-256.
type digest [sha256.Size]byte

// MarshalText writes it in hexadecimal digits.
func (d digest) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(d[:])), nil }

// UnmarshalText reads what MarshalText writes.
func (d *digest) UnmarshalText(b []byte) error {
	if len(b) != 2*len(d) {
		return errDamaged
	}
	_, err := hex.Decode(d[:], b)
	return err
}

// record is an upload on disk.
type record struct {
	ID       string        `json:"id"`
	Seq      uint64        `json:"seq"`
	Space    string        `json:"space"`
	Key      string        `json:"key,omitempty"`
	State    State         `json:"state"`
	Accepted time.Time     `json:"accepted"`
	Ended    time.Time     `json:"ended,omitzero"`
	Digest   digest        `json:"digest"`
	Files    []file        `json:"files,omitempty"`
	Count    int           `json:"count"`
	Bytes    int64         `json:"bytes"`
	Report   ingest.Report `json:"report"`
	Error    string        `json:"error,omitempty"`
	Begun    int           `json:"begun,omitempty"`
	Far      int           `json:"far,omitempty"`
}

// file is a file in a spool.
type file struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  digest `json:"sha256"`
}

// digestOf is what files are known by.
func digestOf(files []file) (d digest) {
	h := sha256.New()
	var n [8]byte
	for _, f := range files {
		binary.BigEndian.PutUint64(n[:], uint64(len(f.Name)))
		h.Write(n[:])
		io.WriteString(h, f.Name)
		h.Write(f.Sum[:])
	}
	h.Sum(d[:0])
	return d
}

// properName says whether a file may be called so. It is a name for people and
// for the reader, never one on disk.
func properName(name string) bool {
	return name != "" && len(name) <= maxName && plain(name)
}

// plain: text without control characters.
func plain(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}

// check says whether the record is one that can have been written.
func (r *record) check() error {
	bytes, known := r.Bytes, r.State == Queued || r.State.over()
	for _, f := range r.Files {
		if !properName(f.Name) || f.Size < 0 || f.Size > bytes {
			return errDamaged
		}
		bytes -= f.Size
	}
	queued := r.State == Queued
	switch {
	case !idForm.MatchString(r.ID), r.Space == "", len(r.Key) > maxKey, !plain(r.Key), !known, r.Bytes < 0, r.Count < 1, r.Begun < 0, r.Far < 0,
		queued != (len(r.Files) > 0), queued && (bytes != 0 || r.Count != len(r.Files) || r.Digest != digestOf(r.Files)),
		queued != r.Ended.IsZero():
		return errDamaged
	}
	return nil
}

func decodeRecord(b []byte) (*record, error) {
	r := &record{}
	if err := unseal("upload", b, r); err != nil {
		return nil, err
	}
	return r, r.check()
}

// held back: a document that must not come out of uploads up to one.
type withheld struct {
	Space    string               `json:"space"`
	Document percached.DocumentID `json:"document"`
	Upto     uint64               `json:"upto"`
}

type withheldFile struct {
	Documents []withheld `json:"documents"`
}

func decodeWithheld(b []byte) ([]withheld, error) {
	var w withheldFile
	err := unseal("withheld", b, &w)
	return w.Documents, err
}

// seal puts a line with version and checksum before v in JSON.
func seal(what string, v any) ([]byte, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return append(fmt.Appendf(nil, "%s %d %08x\n", what, version, sum(version, body)), body...), nil
}

func sum(version int, body []byte) uint32 {
	return crc32.Update(crc32.Checksum(fmt.Appendf(nil, "%d ", version), castagnoli), castagnoli, body)
}

// unseal takes apart what seal put together, and trusts nothing in it.
func unseal(what string, b []byte, v any) error {
	line, body, ok := bytes.Cut(b, []byte("\n"))
	var n int
	var want uint32
	if !ok || len(line) > 64 {
		return errDamaged
	}
	if got, err := fmt.Sscanf(string(line), what+" %d %08x", &n, &want); got != 2 || err != nil || n < 1 ||
		fmt.Sprintf("%s %d %08x", what, n, want) != string(line) || sum(n, body) != want {
		return errDamaged
	}
	if n > version {
		return errNewer
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if dec.Decode(v) != nil {
		return errDamaged
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errDamaged
	}
	return nil
}
