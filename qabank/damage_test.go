package qabank_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/qabank"
)

// spoil flips a bit on disk of an answer large enough to be in the value log.
func (b *bench) spoil(answer string) {
	b.t.Helper()
	files, err := filepath.Glob(filepath.Join(b.dir, "*.vlog"))
	b.do(err)
	for _, file := range files {
		f, err := os.OpenFile(file, os.O_RDWR, 0)
		b.do(err)
		all, err := os.ReadFile(file)
		b.do(err)
		at := bytes.Index(all, []byte(answer))
		if at >= 0 {
			_, err = f.WriteAt([]byte{all[at] ^ 1}, int64(at))
		}
		b.do(errors.Join(err, f.Close()))
		if at >= 0 {
			return
		}
	}
	b.t.Fatal("no file holds the answer")
}

// An unreadable entry hides no other, and is deleted by Delete or Open.
func TestUnreadable(t *testing.T) {
	ctx := context.Background()
	b := start(t, 1<<20)
	told := 0
	b.o.Observer.Damaged = func(error) { told++ }
	b.reopen(false)
	var ids []qabank.ID
	for i, letter := range []string{"x", "y"} {
		e := entry("mail", ask(i), byte(i))
		e.Answer = strings.Repeat(letter, 40<<10)
		ids = append(ids, b.put(e))
		b.spoil(e.Answer)
		if _, err := b.bank.Get("mail", ids[i]); !errors.Is(err, kv.ErrDamaged) {
			t.Fatal(err)
		}
	}
	whole := b.put(entry("mail", "Whole?", 9))
	var seen []qabank.ID
	b.do(b.bank.Each("mail", func(e qabank.Entry) error { seen = append(seen, e.ID); return nil }))
	if len(seen) != 1 || seen[0] != whole {
		t.Errorf("saw %v, not %v alone", seen, whole)
	}
	b.do(b.bank.Veto(ctx, "mail", "Other?", ids[0]))
	by := fakeEmbedder{"new", func(context.Context, percached.Priority, []string) ([][]float32, error) {
		return [][]float32{{1, 0}}, nil // the one that can be read
	}}
	if n, err := b.bank.Reembed(ctx, "mail", by); n != 1 || err != nil {
		t.Error(n, err)
	}
	if n, err := b.bank.Forget(ctx, "mail", []percached.ChunkID{chunk(1)}); n != 1 || err != nil {
		t.Error(n, err)
	}
	for range 2 {
		b.reopen(false)
		if s := b.bank.Stats("mail"); s.Entries != 1 || s.Vetoes != 1 || told != 1 || !b.there("mail", whole) {
			t.Errorf("%+v, told of %d", s, told)
		}
		b.counted()
	}
}
