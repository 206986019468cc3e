package scheduler

import (
	"fmt"
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

// Errand is work that somebody wants done now. The zero value is all work that is
// due.
type Errand struct {
	// Only says which kinds of work are done and looked for, space by space; it must
	// always say the same. The rest is left alone. Nil: all.
	Only func(space string, k Kind) bool
	// Jobs and Tokens end the errand: once so many jobs are done, not counting those
	// that had nothing to do, or once its jobs have computed and generated so many
	// tokens, whatever became of them. The job that comes past that is finished. 0:
	// no bound.
	Jobs, Tokens int
}

// reached is why an errand ends although there may be more to do; nil if it does not.
func (e Errand) reached(t Tally) []Reason {
	var reasons []Reason
	if e.Jobs > 0 && t.Done >= e.Jobs {
		reasons = append(reasons, Reason{Code: ReasonBound, Text: fmt.Sprintf("%d jobs are done, and no more were wanted", t.Done)})
	}
	if n := t.Computed + t.Generated; e.Tokens > 0 && n >= e.Tokens {
		reasons = append(reasons, Reason{Code: ReasonBound, Text: fmt.Sprintf("the jobs took %d tokens, and no more than %d were wanted", n, e.Tokens)})
	}
	return reasons
}

// errand is what one Drain is to do. Nil is everybody's ordinary work, by all rules.
type errand struct {
	Errand
	begun time.Time
	// kinds are those of each space; what is not in it is left alone. They are
	// asked for ahead of time, as Only must not be called under a lock.
	kinds map[string]kindSet
}

// early says that jobs are done whose time has not come.
func (e *errand) early() bool { return e != nil }

// wants lists the kinds that are to be done in a space.
func (e *errand) wants(space string) kindSet {
	if e == nil || e.Only == nil {
		return allKinds
	}
	return e.kinds[space]
}

// learn asks what is wanted of spaces that are new. It is called without locks.
func (e *errand) learn(spaces []string) {
	if e == nil || e.Only == nil {
		return
	}
	for _, space := range spaces {
		if _, known := e.kinds[space]; known {
			continue
		}
		var set kindSet
		for _, k := range kinds {
			if e.Only(space, k) {
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
