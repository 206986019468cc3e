package kv

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/base/fault"
)

// damagedSuffix ends the name of the folder in which Salvage keeps what it found.
const damagedSuffix = ".damaged"

// Salvaged says what became of a damaged database.
type Salvaged struct {
	Sound  bool     // nothing is damaged: nothing was done
	Values int      // that were saved
	Lost   []Damage // files of which something could not be read
	Aside  string   // where the damaged database lies now
}

// Salvage puts a fresh database in the place of a damaged one, with the newest
// version of all that can be read. The damaged one stays beside it. Deletions that
// cannot be read are undone. Values in a damaged block are copied as they are: who
// stored them must be able to tell. A crash leaves one of the two.
func Salvage(ctx context.Context, dir string, o Options) (Salvaged, error) {
	const op = "kv.Salvage"
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	if locked(dir) {
		return Salvaged{}, fault.New(fault.Conflict, op, "another process uses %s", dir)
	}
	if err := settleSwap(dir); err != nil {
		return Salvaged{}, fault.New(fault.Unavailable, op, "%w", err)
	}
	_, _, err := verify(dir, o)
	if err == nil && exists(filepath.Join(dir, recordName)) {
		return Salvaged{Sound: true}, nil
	}
	found, _ := errors.AsType[*Damage](err)
	s, err := takeSurvey(dir, o)
	damage, hurt := errors.AsType[*Damage](err)
	if err != nil && !hurt {
		return Salvaged{}, wrap(op, err)
	}
	if s == nil {
		return Salvaged{}, fault.New(fault.NotFound, op, "%s holds no file of a database: there is nothing to save", dir)
	}
	r := salvager{survey: s, newest: map[[16]byte]newestVersion{}}
	for _, d := range []*Damage{found, damage} {
		if d != nil {
			r.lose(d)
		}
	}
	err = r.copyTo(ctx, dir+nextSuffix, o)
	if err == nil {
		r.done.Aside, err = keepAside(dir)
	}
	if err == nil {
		err = errors.Join(swap(dir), settleSwap(dir))
	}
	if err != nil {
		return Salvaged{}, errors.Join(wrap(op, err), os.RemoveAll(dir+nextSuffix))
	}
	return r.done, nil
}

type salvager struct {
	*survey
	newest map[[16]byte]newestVersion
	seen   int // versions that were read in this pass
	done   Salvaged
	told   map[string]bool
}

// newestVersion is the version of a key that counts.
type newestVersion struct {
	version uint64
	seen    int // its number in the order of reading
}

func (r *salvager) lose(d *Damage) {
	if r.told == nil {
		r.told = map[string]bool{}
	}
	if !r.told[d.File] {
		r.told[d.File] = true
		r.done.Lost = append(r.done.Lost, *d)
	}
}

// copyTo fills a fresh database. It reads all twice: to learn which versions count,
// and to copy these.
func (r *salvager) copyTo(ctx context.Context, dir string, o Options) error {
	if err := r.each(ctx, func(e *stored) error {
		id := hashKey(e.key)
		if old, ok := r.newest[id]; !ok || e.version >= old.version {
			r.newest[id] = newestVersion{e.version, r.seen}
		}
		return nil
	}); err != nil {
		return err
	}
	o.Sync, o.Disposable, o.Observer = false, false, Observer{}
	if err := errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o700)); err != nil {
		return err
	}
	b, rec, err := open(dir, o)
	if err != nil {
		return err
	}
	next := newDB(dir, o, b, rec)
	bulk := next.Bulk()
	err = r.each(ctx, func(e *stored) error {
		if r.newest[hashKey(e.key)].seen != r.seen || e.mark&markDelete != 0 || bytes.Equal(e.key, commitMark) {
			return nil
		}
		value := e.value
		if p, lies := e.pointer(); lies {
			var err error
			if _, value, err = r.value(p); err != nil {
				return r.pass(err)
			}
		}
		r.done.Values++
		return bulk.Set(bytes.Clone(e.key), bytes.Clone(value))
	})
	if err == nil {
		err = bulk.Flush()
	}
	bulk.Cancel()
	return errors.Join(err, next.Close(), syncTree(dir))
}

func hashKey(key []byte) [16]byte {
	sum := sha256.Sum256(key)
	return [16]byte(sum[:16])
}

// pass notes damage, and gives back what is something else.
func (r *salvager) pass(err error) error {
	if d, ok := errors.AsType[*Damage](err); ok {
		r.lose(d)
		return nil
	}
	return err
}

// each calls fn with every version that can be read, always in the same order.
func (r *salvager) each(ctx context.Context, fn func(*stored) error) error {
	r.seen = 0
	count := func(e *stored) error {
		r.seen++
		if r.seen%1000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return fn(e)
	}
	for _, id := range append(r.tables[:len(r.tables):len(r.tables)], r.orphans...) {
		if err := r.eachReadable(id, count, func(d *Damage) error { r.lose(d); return nil }); err != nil {
			return err
		}
	}
	for _, id := range r.logs {
		name := logFileName(id)
		b, err := os.ReadFile(filepath.Join(r.dir, name))
		if err != nil {
			return err
		}
		whole, err := salvageLog(b[min(logHeader, len(b)):], count)
		if err != nil {
			return err
		}
		if !whole {
			r.lose(damaged(name, "a part of it cannot be read"))
		}
	}
	return nil
}

// salvageLog is readLog that passes over what cannot be read and goes on with the next
// entry that can. It returns whether it read everything.
func salvageLog(b []byte, fn func(*stored) error) (whole bool, err error) {
	whole = true
	var open []stored
	flush := func() error {
		for i := range open {
			if err := fn(&open[i]); err != nil {
				return err
			}
		}
		open = open[:0]
		return nil
	}
	for {
		e, n := readEntry(b)
		if n == 0 {
			if len(bytes.Trim(b, "\x00")) == 0 { // the unused end of the file
				return whole, nil
			}
			next := nextEntry(b)
			if next < 0 {
				return false, flush() // the end of the last transaction cannot be read
			}
			whole, b = false, b[next:]
			continue
		}
		b = b[n:]
		switch {
		case e.mark&markFinTxn != 0:
			err = flush()
		case e.mark&markTxn != 0:
			if len(open) > 0 && open[0].version != e.version { // its end cannot be read
				err = flush()
			}
			open = append(open, e)
		default:
			err = fn(&e)
		}
		if err != nil {
			return false, err
		}
	}
}

// maxSkip is how far behind damage nextEntry looks. A log of garbage would take minutes.
const maxSkip = 1 << 20

// nextEntry finds the first entry behind damage at the start of b, or returns -1. An
// entry is found by its checksum, so damage to its lengths hides no other.
func nextEntry(b []byte) int {
	// Behind the last byte that is not zero there can be the end of a checksum at most.
	b = b[:min(len(b), len(bytes.TrimRight(b, "\x00"))+crc32.Size)]
	for i := 1; i < min(len(b), maxSkip); i++ {
		if _, n := readEntry(b[i:]); n > 0 {
			return i
		}
	}
	return -1
}

// keepAside keeps the files of a folder beside it, under a name that is free. They
// are linked where the disk can do that.
func keepAside(dir string) (string, error) {
	aside := dir + damagedSuffix
	for n := 2; exists(aside); n++ {
		aside = fmt.Sprintf("%s%s.%d", dir, damagedSuffix, n)
	}
	if err := os.Mkdir(aside, 0o700); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		from, to := filepath.Join(dir, e.Name()), filepath.Join(aside, e.Name())
		if !e.Type().IsRegular() {
			continue
		}
		if os.Link(from, to) != nil {
			if err := copyFile(from, to); err != nil {
				return "", err
			}
		}
	}
	return aside, syncFile(aside)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
