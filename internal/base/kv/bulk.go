package kv

import (
	"github.com/percached/percached/internal/base/fault"
)

// bulkBytes is what a Bulk gathers before it commits.
const bulkBytes = 8 << 20

// Bulk writes many values in order, in as many transactions as it takes: a
// crash leaves the first of them. It is for one goroutine.
type Bulk struct {
	db *DB
	tx *Tx
}

// Bulk starts a batch; end it with Flush or Cancel.
func (db *DB) Bulk() *Bulk { return &Bulk{db: db} }

// Set writes a value. Neither key nor value may change before Flush.
func (b *Bulk) Set(key, value []byte) error {
	if b.tx != nil && b.tx.large > 0 && b.tx.large+int64(len(value)) > min(bulkBytes, b.db.o.Limit()) {
		if err := b.Flush(); err != nil {
			return err
		}
	}
	return b.do("kv.Bulk.Set", func(tx *Tx) error { return tx.Set(key, value) })
}

// Delete removes a key.
func (b *Bulk) Delete(key []byte) error {
	return b.do("kv.Bulk.Delete", func(tx *Tx) error { return tx.Delete(key) })
}

// do runs fn, in a transaction of its own if the one at hand is full.
func (b *Bulk) do(op string, fn func(*Tx) error) error {
	fresh := b.tx == nil
	if err := b.begin(op); err != nil {
		return err
	}
	err := fn(b.tx)
	if fault.KindOf(err) != fault.Invalid || fresh {
		return err
	}
	if err := b.Flush(); err != nil {
		return err
	}
	if err := b.begin(op); err != nil {
		return err
	}
	return fn(b.tx)
}

func (b *Bulk) begin(op string) (err error) {
	if b.tx == nil {
		b.tx, err = b.db.begin(true)
	}
	return wrap(op, err)
}

// Flush commits what was gathered.
func (b *Bulk) Flush() error {
	if b.tx == nil {
		return nil
	}
	err := b.tx.commit()
	b.Cancel()
	return wrap("kv.Bulk.Flush", err)
}

// Cancel drops what was gathered since the last commit.
func (b *Bulk) Cancel() {
	if b.tx != nil {
		b.tx.end()
		b.tx = nil
	}
}
