package qkvtree

import (
	"context"
	"math"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// What the database's files take is more than what is stored: evicted slices
// lie in them until their file is rewritten, which costs as much writing as the
// file holds of what stays. So some garbage is borne, the more the larger the
// limit is, and then the file with most of it is rewritten, one for a slice
// that comes in. If that does not help, because a View still reads the file,
// slices are refused before the files exceed the limit by its slack.
const (
	borne      = 16   // that part of the limit, and a third of the database's overhead
	refused    = 8    // that part, and its overhead
	worthwhile = 0.05 // of a file must be garbage
)

// space watches what the database's files really take. It belongs to who holds
// writing.
type space struct {
	db    *kv.DB
	disk  int64 // at the last look, and what was let in since
	moved int64 // was written anew to give space back
	idle  int64 // how much is to come in before the next try, after a vain one
}

// slack is by how much the files may exceed a limit.
func (s *space) slack(limit int64) int64 {
	// A limit may be the greatest number there is.
	return min(limit/refused+s.db.Overhead(), math.MaxInt64-limit)
}

func (s *space) look() error {
	n, err := s.db.Size()
	if err == nil {
		s.disk = n
	}
	return err
}

// admit says whether so many bytes may be written without the files exceeding
// the limit and its slack. It rewrites a file if that is what it takes, or soon
// will be.
func (s *space) admit(n, limit int64) (bool, error) {
	bound := limit + s.slack(limit)
	soon := limit + min(limit/borne+s.db.Overhead()/3, s.slack(limit))
	if s.disk+n <= soon {
		s.disk += n
		return true, nil
	}
	if err := s.look(); err != nil {
		return false, err
	}
	s.idle -= n
	for _, settle := range []kv.Settle{kv.SettleRecent, kv.SettleAll} {
		if s.disk+n <= soon || s.idle > 0 {
			break
		}
		before := s.disk
		moved, _, err := s.db.ReclaimStep(context.Background(), worthwhile, settle)
		if err != nil && fault.KindOf(err) != fault.Conflict {
			return false, err
		}
		s.moved += moved
		if err := s.look(); err != nil {
			return false, err
		}
		if s.disk < before {
			break
		}
		if settle == kv.SettleAll { // a View holds the file, or there is no garbage
			s.idle = s.db.Overhead() / 16
		}
	}
	if s.disk+n > bound {
		return false, nil
	}
	s.disk += n
	return true, nil
}

// shrink gives back what can be given back now.
func (s *space) shrink() error {
	err := s.db.Reclaim(context.Background())
	if fault.KindOf(err) == fault.Conflict { // a Rewrite is at it
		err = nil
	}
	if err == nil {
		err = s.look()
	}
	return err
}

// Compact rewrites the database without what was evicted, forgotten or
// overwritten: no byte of that is left in any file then. It needs room for a
// copy of what is stored, waits for a moment without Views, and must not be
// called inside one: see kv.DB.Rewrite.
func (t *Tree) Compact(ctx context.Context, progress func(done, total int64)) error {
	return fault.Wrap("qkvtree.Compact", t.store.db.Rewrite(ctx, progress))
}

// fitDisk brings the files of a database that was just opened inside the
// limit's slack. It may fail: Insert then stores nothing until it succeeds.
func (t *Tree) fitDisk() {
	bound := t.limit + t.space.slack(t.limit)
	if t.space.look() != nil || t.space.disk <= bound {
		return
	}
	if t.space.shrink() == nil && t.space.disk > bound {
		// Badger has lost count of its garbage.
		if t.store.db.Rewrite(context.Background(), nil) == nil {
			_ = t.space.look()
		}
	}
}
