package kv

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"runtime"

	"github.com/dgraph-io/badger/v4"

	"github.com/percached/percached/internal/base/fault"
)

// mapsStay says that a memory map keeps its address when a full file is truncated.
const mapsStay = runtime.GOOS == "linux"

// Tx is a transaction. It is for one goroutine.
type Tx struct {
	db         *DB
	t          *badger.Txn
	write      bool
	acquired   bool             // it is registered at the gate
	sets       bool             // it writes values, not only deletions
	freesSpace bool             // it frees space, so a full disk is no reason to refuse it
	large      int64            // bytes for the value log
	keys       [][]byte         // written keys
	pin        *badger.Iterator // keeps value-log files from being deleted
}

// Get returns a copy of a key's value, or NotFound.
func (tx *Tx) Get(key []byte) ([]byte, error) {
	const op = "kv.Get"
	item, err := tx.t.Get(key)
	if err != nil {
		return nil, wrap(op, err)
	}
	v, err := item.ValueCopy(nil)
	return check(op, item, v, err)
}

// Lend returns a key's value in place if possible. The value is valid until the transaction
// ends and must not be changed. In an Update it is a copy.
func (tx *Tx) Lend(key []byte) ([]byte, error) {
	if !mapsStay || tx.write {
		return tx.Get(key)
	}
	const op = "kv.Lend"
	if tx.pin == nil {
		tx.pin = tx.t.NewKeyIterator(key, badger.IteratorOptions{})
	}
	item, err := tx.t.Get(key)
	if err != nil {
		return nil, wrap(op, err)
	}
	v, err := inPlace(item)
	return check(op, item, v, err)
}

// inPlace requires an open iterator over the same database.
func inPlace(item *badger.Item) (v []byte, err error) {
	if !mapsStay {
		return item.ValueCopy(nil)
	}
	err = item.Value(func(b []byte) error {
		v = b[:len(b):len(b)]
		return nil
	})
	return v, err
}

// check detects an error that badger does not return: badger returns no bytes if a value is not
// readable.
func check(op string, item *badger.Item, v []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, wrap(op, err)
	}
	if len(v) == 0 && item.ValueSize() > 0 {
		return nil, fault.New(fault.Internal, op, "%w", ErrDamaged)
	}
	return v, nil
}

// Has says whether a key exists, without reading its value.
func (tx *Tx) Has(key []byte) (bool, error) {
	_, err := tx.t.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil, wrap("kv.Has", err)
}

// Set writes a value. Neither key nor value may change before the transaction ends.
func (tx *Tx) Set(key, value []byte) error {
	const op = "kv.Set"
	if len(value) >= largeValue {
		tx.large += int64(len(value))
		if tx.large > tx.db.o.Limit() {
			return fault.New(fault.Invalid, op, "the transaction writes more than %d bytes", tx.db.o.Limit())
		}
	}
	tx.sets = true
	if err := tx.addCommitMark(); err != nil {
		return wrap(op, err)
	}
	tx.keys = append(tx.keys, key)
	return wrap(op, tx.t.Set(key, value))
}

// commitMark is a key that every recorded transaction writes. badger keeps its newest version,
// so the number of the last commit survives even if everything else in it is deleted.
var commitMark = []byte("\x00commit")

func (tx *Tx) addCommitMark() error {
	if len(tx.keys) > 0 || tx.db.rec == nil {
		return nil
	}
	return tx.t.Set(commitMark, []byte{1})
}

// Delete removes a key, if it exists.
func (tx *Tx) Delete(key []byte) error {
	if err := tx.addCommitMark(); err != nil {
		return wrap("kv.Delete", err)
	}
	tx.keys = append(tx.keys, key)
	return wrap("kv.Delete", tx.t.Delete(key))
}

// Each calls fn with every key that begins with prefix, in order, and its value. Both are valid
// during the call only and must not be changed.
func (tx *Tx) Each(prefix []byte, fn func(key, value []byte) error) error {
	return tx.each(prefix, func(item *badger.Item) error {
		v, err := inPlace(item)
		if v, err = check("kv.Each", item, v, err); err != nil {
			return err
		}
		return fn(item.Key(), v)
	})
}

// Scan is Each that continues after an unreadable value: fn receives ErrDamaged with its key.
func (tx *Tx) Scan(prefix []byte, fn func(key, value []byte, damage error) error) error {
	return tx.each(prefix, func(item *badger.Item) error {
		v, err := inPlace(item)
		if v, err = check("kv.Scan", item, v, err); err != nil && !errors.Is(err, ErrDamaged) {
			return err
		}
		return fn(item.Key(), v, err)
	})
}

// Keys calls fn with every key that begins with prefix, in order, and the approximate size of
// its value. The key is valid during the call only.
func (tx *Tx) Keys(prefix []byte, fn func(key []byte, size int64) error) error {
	return tx.each(prefix, func(item *badger.Item) error {
		return fn(item.Key(), item.ValueSize())
	})
}

func (tx *Tx) each(prefix []byte, fn func(*badger.Item) error) error {
	it := tx.t.NewIterator(badger.IteratorOptions{Prefix: prefix})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		if bytes.Equal(it.Item().Key(), commitMark) { // internal key
			continue
		}
		if err := fn(it.Item()); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) begin(write bool) (*Tx, error) {
	if err := db.acquire(); err != nil {
		return nil, err
	}
	return &Tx{db: db, t: db.b.NewTransaction(write), write: write, acquired: true}, nil
}

func (tx *Tx) commit() error {
	need := tx.large
	if tx.freesSpace || !tx.sets { // it may use half of MinFree
		need = -tx.db.o.MinFree / 2
	}
	if err := checkRoom(tx.db.dir, tx.db.o, need); err != nil {
		return err
	}
	if err := tx.db.recoverVolatile(); err != nil {
		return err
	}
	tx.db.writes.RLock()
	defer tx.db.writes.RUnlock()
	if tx.db.tracked != nil { // before the commit, because its outcome may remain unknown
		tx.db.tracking.Lock()
		for _, k := range tx.keys {
			tx.db.tracked[string(k)] = struct{}{}
		}
		tx.db.tracking.Unlock()
	}
	tx.db.changes.add(tx.keys)
	if tx.large > 0 {
		tx.db.bigWrites.Lock() // the next transaction must see if this one left the value log stuck
		defer tx.db.bigWrites.Unlock()
		if err := tx.db.unstickLog(); err != nil {
			return err
		}
	}
	err := tx.db.commitDurably(tx.t)
	if tx.db.rec == nil || len(tx.keys) == 0 {
		return err
	}
	return errors.Join(err, tx.record(err))
}

// record records a successful or failed commit before it is acknowledged.
func (tx *Tx) record(failed error) error {
	switch {
	case failed == nil:
		// badger returns the number up to which all commits are done, and waits for pending ones.
		done := tx.db.b.NewTransaction(false)
		defer done.Discard()
		commit := done.ReadTs()
		if volatile, _ := tx.db.files.Load().state(); volatile { // the commit may be lost
			return errors.Join(errFull("kv.commit", tx.db.o), tx.db.rec.failed())
		}
		return tx.db.rec.committed(commit)
	case errors.Is(failed, badger.ErrConflict), errors.Is(failed, badger.ErrTxnTooBig):
		return nil // these use no number
	}
	return tx.db.rec.failed()
}

func (tx *Tx) end() {
	if tx.pin != nil {
		tx.pin.Close()
	}
	tx.t.Discard()
	if tx.acquired {
		tx.db.gate.release()
	}
}

// bulkBytes is how much a Bulk collects before it commits.
const bulkBytes = 8 << 20

// Bulk writes many values in order, in as many transactions as needed. After a crash, a prefix
// of them is stored. It is for one goroutine.
type Bulk struct {
	db *DB
	tx *Tx
}

// Bulk starts a batch. End it with Flush or Cancel.
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

// do runs fn, in a new transaction if the current one is full.
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

// Flush commits the collected writes.
func (b *Bulk) Flush() error {
	if b.tx == nil {
		return nil
	}
	err := b.tx.commit()
	b.Cancel()
	return wrap("kv.Bulk.Flush", err)
}

// Cancel drops the writes since the last commit.
func (b *Bulk) Cancel() {
	if b.tx != nil {
		b.tx.end()
		b.tx = nil
	}
}

// SpaceID identifies a space in keys, so that a space's data is one key range whatever its
// name: the first half of the SHA-256 of the name.
type SpaceID [16]byte

// NewSpaceID returns the SpaceID of a name.
func NewSpaceID(name string) SpaceID {
	sum := sha256.Sum256([]byte(name))
	return SpaceID(sum[:16])
}
