package conversation

import (
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Delete removes a conversation and returns how many turns it had.
func (s *Store) Delete(space string, id ID) (turns int, err error) {
	const op = "conversation.Delete"
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(space, id)
	if err != nil {
		return 0, fault.Wrap(op, err)
	}
	turns, err = s.delete(c)
	return turns, fault.Wrap(op, err)
}

// delete removes the record of a conversation first: turns without it are deleted at the
// next start. The caller holds mu.
func (s *Store) delete(c *stored) (turns int, err error) {
	keys := [][]byte{headKey(c.space, c.ID)}
	err = s.db.View(func(tx *kv.Tx) error {
		return tx.Keys(turnsKey(c.space, c.ID), func(key []byte, _ int64) error {
			keys = append(keys, slices.Clone(key))
			return nil
		})
	})
	if err == nil {
		err = s.remove(keys)
	}
	if err != nil {
		return 0, err
	}
	delete(s.of(c.space), c.ID)
	return len(keys) - 1, nil
}

// Older returns the conversations of a space that were not used since a time.
func (s *Store) Older(space string, before time.Time) (ids []ID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, c := range s.spaces[kv.NewSpaceID(space)] {
		if c.Used.Before(before) {
			ids = append(ids, id)
		}
	}
	return ids
}

// DropSpace removes the conversations of a space and returns how many turns they had.
func (s *Store) DropSpace(space string) (turns int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := kv.NewSpaceID(space)
	for _, c := range s.spaces[id] {
		n, err := s.delete(c)
		turns += n
		if err != nil {
			return turns, fault.Wrap("conversation.DropSpace", err)
		}
	}
	delete(s.spaces, id)
	return turns, nil
}

// Cited returns the chunks that turns of a space rest on.
func (s *Store) Cited(space string) ([]percached.ChunkID, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var cited []percached.ChunkID
	for _, c := range s.spaces[kv.NewSpaceID(space)] {
		turns, _, err := s.turns(c)
		if err != nil {
			return nil, fault.Wrap("conversation.Cited", err)
		}
		for _, t := range turns {
			cited = append(cited, t.Chunks...)
		}
	}
	return cited, nil
}

// Forget removes the turns that rest on one of these chunks, the questions before them,
// and the summaries of their conversations. Conversations that were found by the turns
// that a client repeats are removed whole: what their turns rest on is not known. It
// returns how many turns it removed.
func (s *Store) Forget(space string, chunks []percached.ChunkID) (removed int, err error) {
	const op = "conversation.Forget"
	gone := map[percached.ChunkID]bool{}
	for _, c := range chunks {
		gone[c] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.spaces[kv.NewSpaceID(space)] {
		n, err := s.forget(c, gone)
		removed += n
		if err != nil {
			return removed, fault.Wrap(op, err)
		}
	}
	return removed, nil
}

// forget is Forget for one conversation. A turn that cannot be read might rest on a chunk.
func (s *Store) forget(c *stored, gone map[percached.ChunkID]bool) (removed int, err error) {
	if c.Found {
		return s.delete(c)
	}
	turns, keys, err := s.turns(c)
	if err != nil {
		return 0, err
	}
	for i, t := range turns {
		if !slices.ContainsFunc(t.Chunks, func(id percached.ChunkID) bool { return gone[id] }) {
			continue
		}
		if i > 0 && t.Role == Assistant && turns[i-1].Role == User {
			keys = append(keys, turnKey(c.space, c.ID, turns[i-1].Number))
		}
		keys = append(keys, turnKey(c.space, c.ID, t.Number))
	}
	if len(keys) == 0 {
		return 0, nil
	}
	next := *c
	next.Summary = Summary{}
	next.Forgotten++
	if err := s.put(&next, nil); err != nil { // the summary goes first: it may repeat the turns
		return 0, err
	}
	*c = next
	return len(keys), s.remove(keys)
}
