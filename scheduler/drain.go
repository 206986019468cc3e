package scheduler

import (
	"fmt"
	"slices"
	"time"
)

// kindSet is a set of kinds: one bit for each, at its rank.
type kindSet uint32

const allKinds = kindSet(1)<<len(kinds) - 1

func setOf(ks ...Kind) (set kindSet) {
	for _, k := range ks {
		set |= 1 << k.rank()
	}
	return set
}

func (set kindSet) contains(k Kind) bool { return set&setOf(k) != 0 }

// DrainRequest selects the work of one Drain. The zero value selects all due work.
type DrainRequest struct {
	// Only reports which kinds of work to do in a space; its result must not change. Nil
	// selects all.
	Only func(space string, k Kind) bool
	// Jobs and Tokens limit the drain. It ends once that many jobs are done (those with
	// nothing to do are not counted), or once its jobs have computed and generated that
	// many tokens. The job that exceeds a limit still finishes. 0 means no limit.
	Jobs, Tokens int
}

// limitReached returns why a drain ends early, or nil.
func (e DrainRequest) limitReached(t Tally) []Reason {
	var reasons []Reason
	if e.Jobs > 0 && t.Done >= e.Jobs {
		reasons = append(reasons, Reason{Code: ReasonBound, Text: fmt.Sprintf("the limit is reached: %d jobs are done", t.Done)})
	}
	if n := t.Computed + t.Generated; e.Tokens > 0 && n >= e.Tokens {
		reasons = append(reasons, Reason{Code: ReasonBound, Text: fmt.Sprintf("the limit is reached: the jobs used %d of %d tokens", n, e.Tokens)})
	}
	return reasons
}

// drain is one running Drain. A nil drain is ordinary idle work under all rules.
type drain struct {
	DrainRequest
	begun time.Time
	// kinds holds the selected kinds of each known space. They are computed in advance,
	// because Only must not be called under a lock.
	kinds map[string]kindSet
}

// ignoresRules reports whether jobs run before their time.
func (e *drain) ignoresRules() bool { return e != nil }

// kindsFor returns the selected kinds of a space.
func (e *drain) kindsFor(space string) kindSet {
	if e == nil || e.Only == nil {
		return allKinds
	}
	return e.kinds[space]
}

// addSpaces asks Only about spaces that are new. It is called without locks.
func (e *drain) addSpaces(spaces []string) {
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

// spaces lists the names of all known spaces.
func (s *Scheduler) spaces() (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.states {
		names = append(names, b.name)
	}
	slices.Sort(names)
	return names
}
