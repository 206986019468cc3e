package qabank

import (
	"context"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// Older counts the entries of a space that nobody asked since a time, and the checks made
// before it. An entry that nobody asked counts from when it was made.
func (b *Bank) Older(space string, before time.Time) (entries, checks int) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	items, old := b.older(space, before)
	return len(items), len(old)
}

// older finds what Older counts. The caller holds mu.
func (b *Bank) older(space string, before time.Time) (items []*item, checks []*check) {
	s := b.spaces[space]
	if s == nil {
		return nil, nil
	}
	for _, it := range s.items {
		if it.state.used.Before(before) {
			items = append(items, it)
		}
	}
	for _, c := range s.checks {
		if c.at.Before(before) {
			checks = append(checks, c)
		}
	}
	return items, checks
}

// Expire deletes what Older counts, and returns the number of entries. A check holds the
// vector of a question. Vetoes stay: they hold hashes of questions alone.
func (b *Bank) Expire(ctx context.Context, space string, before time.Time) (n int, err error) {
	const op = "qabank.Expire"
	b.write.Lock()
	defer b.write.Unlock()
	b.mu.RLock()
	items, checks := b.older(space, before)
	s := b.spaces[space]
	b.mu.RUnlock()
	if s == nil {
		return 0, nil
	}
	if len(checks) > 0 {
		if err := b.forgetChecks(s, checks); err != nil {
			return 0, fault.Wrap(op, err)
		}
	}
	err = b.remove(ctx, items, func(part []*item) {
		n += len(part)
		b.dropAll(part)
	})
	return n, fault.Wrap(op, err)
}
