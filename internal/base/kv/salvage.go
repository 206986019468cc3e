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

// damagedSuffix ends the name of the folder in which Salvage keeps the damaged database.
const damagedSuffix = ".damaged"

// Salvaged is the result of Salvage.
type Salvaged struct {
	Sound  bool     // the database is not damaged and was not changed
	Values int      // recovered values
	Lost   []Damage // files that were not completely readable
	Aside  string   // where the damaged database is now
}

// Salvage replaces a damaged database by a fresh one with the newest readable version of each
// key. It keeps the damaged one beside it. If a deletion is not readable, its key reappears.
// Values of a damaged block are copied unverified: their readers must detect damage. A crash
// leaves one of the two databases complete.
func Salvage(ctx context.Context, dir string, o Options) (Salvaged, error) {
	const op = "kv.Salvage"
	dir = realDir(dir)
	if isLocked(dir) {
		return Salvaged{}, fault.New(fault.Conflict, op, "another process uses %s", dir)
	}
	if err := finishSwap(dir); err != nil {
		return Salvaged{}, fault.New(fault.Unavailable, op, "%w", err)
	}
	_, _, err := verify(dir, o)
	if err == nil && pathExists(filepath.Join(dir, recordName)) {
		return Salvaged{Sound: true}, nil
	}
	found, _ := errors.AsType[*Damage](err)
	s, err := takeSurvey(dir, o)
	damage, hurt := errors.AsType[*Damage](err)
	if err != nil && !hurt {
		return Salvaged{}, wrap(op, err)
	}
	if s == nil && hurt { // without its keys nothing is readable
		damage.Dir = dir
		return Salvaged{}, fault.New(fault.Unavailable, op, "%w", damage)
	}
	if s == nil {
		return Salvaged{}, fault.New(fault.NotFound, op, "%s contains no database", dir)
	}
	r := salvager{survey: s, newest: map[[16]byte]newestVersion{}}
	for _, d := range []*Damage{found, damage} {
		if d != nil {
			r.addLost(d)
		}
	}
	err = r.copyTo(ctx, dir+nextSuffix, o)
	if err == nil {
		r.done.Aside, err = keepAside(dir)
	}
	if err == nil {
		err = errors.Join(swap(dir), finishSwap(dir))
	}
	if err != nil {
		return Salvaged{}, errors.Join(wrap(op, err), os.RemoveAll(dir+nextSuffix))
	}
	return r.done, nil
}

type salvager struct {
	*survey
	newest    map[[16]byte]newestVersion
	seen      int // versions read in this pass
	done      Salvaged
	lostFiles map[string]bool
}

// newestVersion is the version of a key that will be copied.
type newestVersion struct {
	version uint64
	seen    int // its position in the order of reading
}

func (r *salvager) addLost(d *Damage) {
	if r.lostFiles == nil {
		r.lostFiles = map[string]bool{}
	}
	if !r.lostFiles[d.File] {
		r.lostFiles[d.File] = true
		r.done.Lost = append(r.done.Lost, *d)
	}
}

// copyTo fills a fresh database. It reads everything twice: to find the newest versions, and to
// copy them.
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
			if value, err = r.value(e.key, p); err != nil {
				return r.skipDamage(err)
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

// skipDamage records damage and returns other errors.
func (r *salvager) skipDamage(err error) error {
	if d, ok := errors.AsType[*Damage](err); ok {
		r.addLost(d)
		return nil
	}
	return err
}

// each calls fn with every readable version, always in the same order.
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
		if err := r.eachReadable(id, count, func(d *Damage) error { r.addLost(d); return nil }); err != nil {
			return err
		}
	}
	for _, id := range r.logs {
		name := logFileName(id)
		b, key, err := r.readLogFile(name)
		if d, ok := errors.AsType[*Damage](err); ok {
			r.addLost(d)
			continue
		}
		if err != nil {
			return err
		}
		if key != nil && !key.fits(b) {
			r.addLost(damagedf(name, "its header is damaged"))
			continue
		}
		whole, err := salvageLog(b, key, count)
		if err != nil {
			return err
		}
		if !whole {
			r.addLost(damagedf(name, "a part of it is not readable"))
		}
	}
	return nil
}

// salvageLog is readLog that skips unreadable entries. It returns whether it read everything.
func salvageLog(b []byte, key *logKey, fn func(*stored) error) (whole bool, err error) {
	whole = true
	at := min(logHeader, len(b))
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
		e, n := readEntry(b[at:], key, at)
		if n == 0 {
			if isZero(b[at:]) { // the unused end of the file
				return whole, nil
			}
			next := nextEntry(b[at:])
			if next < 0 {
				return false, flush() // the end of the last transaction is not readable
			}
			whole, at = false, at+next
			continue
		}
		at += n
		switch {
		case e.mark&markFinTxn != 0:
			err = flush()
		case e.mark&markTxn != 0:
			if len(open) > 0 && open[0].version != e.version { // its end is not readable
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

// maxSkip is how many bytes after damage nextEntry searches. Searching a log of garbage would
// take minutes.
const maxSkip = 1 << 20

// nextEntry finds the first entry after damage at the start of b, or returns -1. It recognises
// an entry by its checksum, so a damaged length hides no later entry.
func nextEntry(b []byte) int {
	// After the last non-zero byte, only the end of a checksum can follow.
	b = b[:min(len(b), len(bytes.TrimRight(b, "\x00"))+crc32.Size)]
	for i := 1; i < min(len(b), maxSkip); i++ {
		if _, n := readEntry(b[i:], nil, i); n > 0 {
			return i
		}
	}
	return -1
}

// keepAside keeps the files of a folder in a new folder beside it, as hard links if the disk
// supports them.
func keepAside(dir string) (string, error) {
	aside := dir + damagedSuffix
	for n := 2; pathExists(aside); n++ {
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
