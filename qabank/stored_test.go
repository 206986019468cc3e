package qabank_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank"
)

// The observer is told of every stored entry, also of a replaced one, but not of a
// refused one.
func TestTellsWhatIsStored(t *testing.T) {
	size := entrySize(t)
	b := start(t, 10*size)
	type told struct {
		Entries int
		Bytes   int64
	}
	var heard []told
	b.o.Observer.Stored = func(n int, bytes int64) { heard = append(heard, told{n, bytes}) }
	b.reopen(false)
	b.put(entry("mail", ask(0), 1))
	b.put(entry("mail", ask(1), 1))
	b.put(entry("mail", ask(1), 1))
	if d := cmp.Diff([]told{{1, size}, {1, size}, {1, size}}, heard); d != "" {
		t.Error(d)
	}
	large := entry("mail", ask(2), 1)
	large.Answer = strings.Repeat("x", int(11*size))
	if _, err := b.bank.Put(context.Background(), large); fault.KindOf(err) != fault.Invalid {
		t.Errorf("an entry larger than the bank: %v", err)
	}
	if id, put, err := b.bank.PutIf(context.Background(), entry("mail", ask(3), 1), func(qabank.Info, bool) bool { return false }); put || err != nil {
		t.Errorf("%v, %v, %v", id, put, err)
	}
	if len(heard) != 3 {
		t.Errorf("heard %v", heard)
	}
}
