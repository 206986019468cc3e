package inbox

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"io"
	"regexp"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
	"github.com/percached/percached/internal/ingest"
)

const (
	maxName = 1024 // bytes of a file's name
	maxKey  = 256  // bytes of a key

	recordVersion = 1
	// maxRecord is less than one transaction of the database may write.
	maxRecord = 6 << 20

	allKeys   = "U"
	uploadKey = "Uu" // followed by the ID
)

var withheldKey = []byte("Uw")

var idForm = regexp.MustCompile(`^[0-9a-f]{32}$`)

// store keeps the records: a database, or a fake in tests.
type store interface {
	// load calls fn with every record. The value of an unreadable one is nil.
	load(fn func(key, value []byte) error) error
	get(key []byte) ([]byte, error)
	// write makes all changes durable, or none.
	write(changes ...change) error
}

// change sets the value of a key; nil deletes the key.
type change struct{ key, value []byte }

// database is the store in production.
type database struct{ *kv.DB }

func (d database) load(fn func(key, value []byte) error) error {
	return d.View(func(tx *kv.Tx) error {
		return tx.Scan([]byte(allKeys), func(key, value []byte, damage error) error {
			if damage != nil {
				value = nil
			}
			return fn(key, value)
		})
	})
}

func (d database) get(key []byte) (value []byte, err error) {
	err = d.View(func(tx *kv.Tx) error {
		value, err = tx.Get(key)
		return err
	})
	return value, err
}

func (d database) write(changes ...change) error {
	if len(changes) == 0 {
		return nil
	}
	return d.Update(func(tx *kv.Tx) error {
		for _, c := range changes {
			err := error(nil)
			if c.value == nil {
				err = tx.Delete(c.key)
			} else {
				err = tx.Set(c.key, c.value)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// record is an upload in the store.
type record struct {
	ID       string        `json:"id"`
	Seq      uint64        `json:"seq"`
	Space    string        `json:"space"`
	Key      string        `json:"key,omitempty"`
	State    State         `json:"state"`
	Accepted time.Time     `json:"accepted"`
	Ended    time.Time     `json:"ended,omitzero"`
	Digest   string        `json:"digest"`
	Files    []file        `json:"files,omitempty"`
	Count    int           `json:"count"`
	Bytes    int64         `json:"bytes"`
	Report   ingest.Report `json:"report"`
	Error    string        `json:"error,omitempty"`
	Begun    int           `json:"begun,omitempty"`
	Far      int           `json:"far,omitempty"`
	Again    bool          `json:"again,omitempty"` // with deleted documents, see AcceptAgain
}

// file is one file in a spool file.
type file struct {
	Name string `json:"name"`
	Size int64  `json:"size"`
	Sum  string `json:"sha256"`
}

// withheld is a document that uploads up to a sequence number must not bring.
type withheld struct {
	Space    string               `json:"space"`
	Document percached.DocumentID `json:"document"`
	Upto     uint64               `json:"upto"`
}

type withheldList struct {
	Documents []withheld `json:"documents"`
}

func keyOf(id string) []byte { return []byte(uploadKey + id) }

// put is a change that stores a value as JSON.
func put(key []byte, v any) (change, error) {
	b, err := json.Marshal(v)
	w := sealed.NewWriter(recordVersion, key)
	w.Text(string(b))
	return change{key, w.Seal()}, err
}

// decode reads what put stored.
func decode(key, value []byte, v any) error {
	r, err := sealed.NewReader(key, value, 1, recordVersion)
	if err != nil {
		return err
	}
	text := r.Text(maxRecord)
	if err := r.End("an upload"); err != nil {
		return err
	}
	if json.Unmarshal([]byte(text), v) != nil {
		return sealed.ErrDamaged
	}
	return nil
}

func decodeRecord(key, value []byte) (*record, error) {
	r := &record{}
	if err := decode(key, value, r); err != nil {
		return nil, err
	}
	if string(key) != uploadKey+r.ID {
		return nil, sealed.ErrDamaged
	}
	return r, r.check()
}

// check returns an error if no upload can have this record.
func (r *record) check() error {
	rest, known := r.Bytes, r.State == Queued || r.State.ended()
	for _, f := range r.Files {
		if !validName(f.Name) || f.Size < 0 || f.Size > rest {
			return sealed.ErrDamaged
		}
		rest -= f.Size
	}
	queued := r.State == Queued
	switch {
	case !idForm.MatchString(r.ID), r.Space == "", len(r.Key) > maxKey, !printable(r.Key), !known, r.Bytes < 0, r.Count < 1, r.Begun < 0, r.Far < 0,
		queued != (len(r.Files) > 0), queued && (rest != 0 || r.Count != len(r.Files) || r.Digest != digestOf(r.Files)),
		queued != r.Ended.IsZero():
		return sealed.ErrDamaged
	}
	return nil
}

// digestOf identifies the content of an upload.
func digestOf(files []file) string {
	h := sha256.New()
	var n [8]byte
	for _, f := range files {
		binary.BigEndian.PutUint64(n[:], uint64(len(f.Name)))
		h.Write(n[:])
		io.WriteString(h, f.Name)
		sum, _ := hex.DecodeString(f.Sum)
		h.Write(sum)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func validName(name string) bool { return name != "" && len(name) <= maxName && printable(name) }

// printable: UTF-8 without control characters.
func printable(s string) bool {
	for _, r := range s {
		if unicode.IsControl(r) {
			return false
		}
	}
	return utf8.ValidString(s)
}
