package qkvtree_test

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
)

// spoil changes the first record of a kind at a path of a model.
func spoil(t testing.TB, db *kv.DB, kind byte, model string, p percached.Path, change func([]byte) []byte) {
	t.Helper()
	m := sha256.Sum256([]byte(model))
	if err := db.Update(func(tx *kv.Tx) error {
		var keys [][]byte
		if err := tx.Keys([]byte{kind}, func(k []byte, _ int64) error {
			if bytes.Contains(k, p[:]) && bytes.Contains(k, m[:16]) {
				keys = append(keys, bytes.Clone(k))
			}
			return nil
		}); err != nil {
			return err
		}
		if len(keys) == 0 {
			t.Error("nothing to spoil")
		}
		for _, k := range keys[:1] {
			v, err := tx.Get(k)
			if err != nil {
				return err
			}
			if v = change(v); v == nil {
				err = tx.Delete(k)
			} else {
				err = tx.Set(k, v)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// spoilAt flips a bit in the tensors of one slice.
func spoilAt(t testing.TB, db *kv.DB, k spot) {
	t.Helper()
	s, m := sha256.Sum256([]byte(k.space)), sha256.Sum256([]byte(k.model))
	prefix := append(append(append(append([]byte("P"), s[:16]...), m[:16]...), byte(k.placement)), k.path[:]...)
	if err := db.Update(func(tx *kv.Tx) error {
		first := append(prefix, 0, 0, 0, 0)
		v, err := tx.Get(first)
		if err != nil {
			return err
		}
		v[len(v)/2] ^= 8
		return tx.Set(first, v)
	}); err != nil {
		t.Fatal(err)
	}
}
