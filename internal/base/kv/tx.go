package kv

import (
	"bytes"
	"errors"
	"runtime"

	"github.com/dgraph-io/badger/v4"

	"github.com/percached/percached/internal/base/fault"
)

// mapsStay says that badger's memory maps keep their address when a full file
// is cut to its length.
const mapsStay = runtime.GOOS == "linux"

// Tx is a transaction. It is for one goroutine.
type Tx struct {
	db    *DB
	t     *badger.Txn
	write bool
	gated bool             // it went through the gate
	sets  bool             // it does more than delete
	frees bool             // it gives space back in the end: a full disk is no reason to refuse it
	large int64            // bytes bound for the value log
	keys  [][]byte         // written ones
	pin   *badger.Iterator // keeps value-log files from being deleted
}

// Get gives a copy of a key's value; NotFound if there is none.
func (tx *Tx) Get(key []byte) ([]byte, error) {
	const op = "kv.Get"
	item, err := tx.t.Get(key)
	if err != nil {
		return nil, wrap(op, err)
	}
	v, err := item.ValueCopy(nil)
	return check(op, item, v, err)
}

// Lend gives a key's value in place where it can: it is valid until the
// transaction ends and must not be changed. In an Update it is a copy.
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

// inPlace needs an open iterator over the same database.
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

// check finds what badger keeps to itself: it answers with no bytes when it
// cannot read a value.
func check(op string, item *badger.Item, v []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, wrap(op, err)
	}
	if len(v) == 0 && item.ValueSize() > 0 {
		return nil, fault.New(fault.Internal, op, "%w", ErrDamaged)
	}
	return v, nil
}

// Has says if a key is there without reading its value.
func (tx *Tx) Has(key []byte) (bool, error) {
	_, err := tx.t.Get(key)
	if errors.Is(err, badger.ErrKeyNotFound) {
		return false, nil
	}
	return err == nil, wrap("kv.Has", err)
}

// Set writes a value. Neither key nor value may change before the transaction
// ends.
func (tx *Tx) Set(key, value []byte) error {
	const op = "kv.Set"
	if len(value) >= inLog {
		tx.large += int64(len(value))
		if tx.large > tx.db.o.Limit() {
			return fault.New(fault.Invalid, op, "more than %d bytes in one transaction", tx.db.o.Limit())
		}
	}
	tx.sets = true
	if err := tx.mark(); err != nil {
		return wrap(op, err)
	}
	tx.keys = append(tx.keys, key)
	return wrap(op, tx.t.Set(key, value))
}

// commitMark is a key that every transaction writes where commits are recorded.
// badger keeps its newest version, so that the number of the last commit outlives
// what was deleted in it.
var commitMark = []byte("\x00commit")

func (tx *Tx) mark() error {
	if len(tx.keys) > 0 || tx.db.rec == nil {
		return nil
	}
	return tx.t.Set(commitMark, []byte{1})
}

// Delete removes a key, if it is there.
func (tx *Tx) Delete(key []byte) error {
	if err := tx.mark(); err != nil {
		return wrap("kv.Delete", err)
	}
	tx.keys = append(tx.keys, key)
	return wrap("kv.Delete", tx.t.Delete(key))
}

// Each calls fn with every key that begins with prefix, in order, and its
// value. Both are valid during the call only and must not be changed.
func (tx *Tx) Each(prefix []byte, fn func(key, value []byte) error) error {
	return tx.each(prefix, func(item *badger.Item) error {
		v, err := inPlace(item)
		if v, err = check("kv.Each", item, v, err); err != nil {
			return err
		}
		return fn(item.Key(), v)
	})
}

// Scan is Each that does not stop at a value that cannot be read: fn gets
// ErrDamaged with its key.
func (tx *Tx) Scan(prefix []byte, fn func(key, value []byte, damage error) error) error {
	return tx.each(prefix, func(item *badger.Item) error {
		v, err := inPlace(item)
		if v, err = check("kv.Scan", item, v, err); err != nil && !errors.Is(err, ErrDamaged) {
			return err
		}
		return fn(item.Key(), v, err)
	})
}

// Keys calls fn with every key that begins with prefix, in order, and the
// size of its value, near enough. The key is valid during the call only.
func (tx *Tx) Keys(prefix []byte, fn func(key []byte, size int64) error) error {
	return tx.each(prefix, func(item *badger.Item) error {
		return fn(item.Key(), item.ValueSize())
	})
}

func (tx *Tx) each(prefix []byte, fn func(*badger.Item) error) error {
	it := tx.t.NewIterator(badger.IteratorOptions{Prefix: prefix})
	defer it.Close()
	for it.Rewind(); it.Valid(); it.Next() {
		if bytes.Equal(it.Item().Key(), commitMark) { // nobody's but ours
			continue
		}
		if err := fn(it.Item()); err != nil {
			return err
		}
	}
	return nil
}

func (db *DB) begin(write bool) (*Tx, error) {
	if err := db.enter(); err != nil {
		return nil, err
	}
	return &Tx{db: db, t: db.b.NewTransaction(write), write: write, gated: true}, nil
}

func (tx *Tx) commit() error {
	need := tx.large
	if tx.frees || !tx.sets { // half of what is to be kept free is for that
		need = -tx.db.o.MinFree / 2
	}
	if err := room(tx.db.dir, tx.db.o, need); err != nil {
		return err
	}
	if err := tx.db.recoverVolatile(); err != nil {
		return err
	}
	tx.db.writes.RLock()
	defer tx.db.writes.RUnlock()
	if tx.db.dirty != nil { // before the commit, whose outcome may stay unknown
		tx.db.noting.Lock()
		for _, k := range tx.keys {
			tx.db.dirty[string(k)] = struct{}{}
		}
		tx.db.noting.Unlock()
	}
	if tx.large > 0 {
		tx.db.bulky.Lock() // the next one must see that this one left the value log stuck
		defer tx.db.bulky.Unlock()
		if err := tx.db.beginLog(); err != nil {
			return err
		}
	}
	err := tx.db.durably(tx.t)
	if tx.db.rec == nil || len(tx.keys) == 0 {
		return err
	}
	return errors.Join(err, tx.record(err))
}

// record notes a commit, or one that failed, before anybody is told of it.
func (tx *Tx) record(failed error) error {
	switch {
	case failed == nil:
		// badger says only up to which number all commits are done; it waits for those
		// that are under way.
		done := tx.db.b.NewTransaction(false)
		defer done.Discard()
		commit := done.ReadTs()
		if volatile, _ := tx.db.files.Load().state(); volatile { // that one may be lost
			return errors.Join(errFull("kv.commit"), tx.db.rec.failed())
		}
		return tx.db.rec.committed(commit)
	case errors.Is(failed, badger.ErrConflict), errors.Is(failed, badger.ErrTxnTooBig):
		return nil // they take no number
	}
	return tx.db.rec.failed()
}

func (tx *Tx) end() {
	if tx.pin != nil {
		tx.pin.Close()
	}
	tx.t.Discard()
	if tx.gated {
		tx.db.gate.leave()
	}
}
