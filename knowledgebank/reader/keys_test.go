package reader

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/percached/percached/knowledgebank"
)

// Keys finds the keys of all documents that Stream finds, and those of documents that Stream
// cannot read.
func TestKeys(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "in", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	r := newReader(t, Default())
	more, found := 0, 0
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			continue // a folder
		}
		var keys []string
		unread := r.Keys(context.Background(), path, bytes.NewReader(data), func(key string) { keys = append(keys, key) })
		failed := 0
		err = r.Stream(context.Background(), path, bytes.NewReader(data), func(s *knowledgebank.Source) error {
			if found++; !slices.Contains(keys, s.Key) {
				t.Errorf("%s: %s is missing", path, s.Key)
			}
			return nil
		}, func(string, error) { failed++ })
		if err != nil || unread != nil && failed == 0 {
			t.Errorf("%s: %v, %v", path, unread, err)
		}
		more += len(keys)
	}
	if found == 0 || more < found {
		t.Errorf("%d documents, %d keys", found, more)
	}
}

// Keys says that the rest of a file cannot be read.
func TestKeysCut(t *testing.T) {
	r := newReader(t, Default())
	broken := errors.New("the disk is broken")
	box := "From ana@example.com Mon Feb  3 10:00:00 2025\nFrom: Ana <ana@example.com>\nMessage-ID: <1@example.com>\n\nText.\n\nFrom ana@example.com Mon Feb  3 10:00:00 2025\n"
	rest := []byte(box)
	var keys []string
	err := r.Keys(context.Background(), "box.mbox", readFunc(func(p []byte) (int, error) {
		if len(rest) == 0 {
			return 0, broken
		}
		n := copy(p, rest)
		rest = rest[n:]
		return n, nil
	}), func(key string) { keys = append(keys, key) })
	if !errors.Is(err, broken) || !slices.Equal(keys, []string{"mail:<1@example.com>"}) {
		t.Errorf("%q, %v", keys, err)
	}
}
