package backup_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/encryption"
	"github.com/percached/percached/internal/base/fault"
)

// An increment is read as one, plain or encrypted, and is refused as a backup; a backup is refused as an
// increment.
func TestIncrement(t *testing.T) {
	key, text, err := encryption.New([]byte("the passphrase"), encryption.Cost{Time: 1, MemoryKiB: 8, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, seal := range map[string]backup.Seal{"plain": {}, "encrypted": {Key: key, File: text}} {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			w, err := backup.NewWriter(&b, seal, backup.Header{Documents: 3, Increment: true})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range []struct {
				key, value string
				deleted    bool
			}{{"a", "1", false}, {"b", "", true}, {"c", "", false}} {
				if err := w.Change([]byte(c.key), []byte(c.value), c.deleted); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			var got []string
			to := backup.Target{
				Key: func([]byte) (*encryption.Key, error) { return key, nil },
				Change: func(k, v []byte, deleted bool) error {
					got = append(got, fmt.Sprintf("%s=%q %v", k, v, deleted))
					return nil
				},
			}
			if h, err := backup.Read(bytes.NewReader(b.Bytes()), to); err != nil || h.Documents != 3 {
				t.Errorf("%+v %v", h, err)
			}
			if diff := cmp.Diff([]string{`a="1" false`, `b="" true`, `c="" false`}, got); diff != "" {
				t.Error(diff)
			}
			if _, err := backup.Verify(bytes.NewReader(b.Bytes())); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "increment") {
				t.Errorf("an increment passed as a backup: %v", err)
			}
			if _, err := backup.Read(bytes.NewReader(archive(t, 3)), to); fault.KindOf(err) != fault.Invalid {
				t.Errorf("a backup passed as an increment: %v", err)
			}
		})
	}
}

// A change must say whether it sets or deletes.
func TestIncrementWithOtherRecords(t *testing.T) {
	for _, value := range []string{"", "\x02x", "\x00x"} {
		var b bytes.Buffer
		w, err := backup.NewWriter(&b, backup.Seal{}, backup.Header{Increment: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Record([]byte("k"), []byte(value)); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		_, err = backup.Read(&b, backup.Target{Change: func(_, _ []byte, _ bool) error { return nil }})
		if fault.KindOf(err) != fault.Invalid {
			t.Errorf("%q: %v", value, err)
		}
	}
}
