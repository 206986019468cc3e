package backup_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
)

// An encrypted backup that was cut or changed is damaged, with its key and without.
func TestSealedDamaged(t *testing.T) {
	key, text, err := encryption.New([]byte("the passphrase"), encryption.Cost{Time: 1, MemoryKiB: 8, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w, err := backup.NewWriter(&b, backup.Seal{Key: key, File: text}, backup.Header{Documents: 3})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Record([]byte("key"), []byte("value")); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	whole := b.Bytes()
	keys := map[string]backup.Target{"with": {Key: func([]byte) (*encryption.Key, error) { return key, nil }}, "without": {}}
	for name, to := range keys {
		if h, err := backup.Read(bytes.NewReader(whole), to); err != nil || h.Documents != 3 {
			t.Errorf("%s its key: %+v, %v", name, h, err)
		}
	}
	body := bytes.Index(whole, []byte("pcenc001"))
	for at := body; at < len(whole); at++ {
		flipped := bytes.Clone(whole)
		flipped[at] ^= 1
		for name, to := range keys {
			for what, bad := range map[string][]byte{"cut": whole[:at], "flipped": flipped} {
				if _, err := backup.Read(bytes.NewReader(bad), to); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "the backup is damaged") {
					t.Errorf("%s at byte %d of %d, %s its key: %v", what, at, len(whole), name, err)
				}
			}
		}
	}
}
