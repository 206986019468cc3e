package scheduler

import (
	"slices"
	"time"
)

// kindSet holds kinds, each as a bit at its rank.
type kindSet uint32

const allKinds = kindSet(1)<<len(kinds) - 1

func setOf(ks ...Kind) (set kindSet) {
	for _, k := range ks {
		set |= 1 << k.rank()
	}
	return set
}

func (set kindSet) has(k Kind) bool { return set&setOf(k) != 0 }

// errand is what one Drain is to do. Nil is everybody's ordinary work, by all rules.
type errand struct {
	begun time.Time
	only  func(space string, k Kind) bool // nil: all
	// kinds are those of each space; what is not in it is left alone. They are
	// asked for ahead of time, as only must not be called under a lock.
	kinds map[string]kindSet
}

// early says that jobs are done whose time has not come.
func (e *errand) early() bool { return e != nil }

// wants lists the kinds that are to be done in a space.
func (e *errand) wants(space string) kindSet {
	if e == nil || e.only == nil {
		return allKinds
	}
	return e.kinds[space]
}

// learn asks what is wanted of spaces that are new. It is called without locks.
func (e *errand) learn(spaces []string) {
	if e == nil || e.only == nil {
		return
	}
	for _, space := range spaces {
		if _, known := e.kinds[space]; known {
			continue
		}
		var set kindSet
		for _, k := range kinds {
			if e.only(space, k) {
				set |= setOf(k)
			}
		}
		e.kinds[space] = set
	}
}

// spaces lists the spaces of which something is kept.
func (s *Scheduler) spaces() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.books {
		names = append(names, b.name)
	}
	slices.Sort(names)
	return names
}
