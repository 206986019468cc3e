package kv_test

import (
	"crypto/rand"
	"path/filepath"
	"testing"

	"github.com/percached/percached/internal/base/kv"
)

// The size of a database is known without opening it, and excludes space allocated in advance.
func TestSizeOf(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "db")
	if n, err := kv.SizeOf(dir); n != 0 || err != nil {
		t.Errorf("no database: %d bytes, %v", n, err)
	}
	const large = 3 << 20
	value := make([]byte, large)
	_, _ = rand.Read(value)
	db := open(t, dir, kv.Default())
	if err := db.Update(func(tx *kv.Tx) error { return tx.Set([]byte("a"), value) }); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := kv.SizeOf(dir); n < large || n > large+1<<20 || err != nil {
		t.Errorf("%d bytes of %d, %v", n, large, err)
	}
}
