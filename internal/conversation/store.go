package conversation

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// Limits of what is stored; texts in bytes.
const (
	MaxConversations = 1000 // of a space, created by clients
	MaxFound         = 50   // of a space, found by their turns
	MaxTurns         = 10000
	MaxBytes         = 4 << 20 // of the texts of a conversation
	maxTitle         = 200
	maxInstructions  = 16 << 10
	maxText          = 64 << 10
	maxChunks        = 1000
)

// FoundLife is how long a conversation that was found by its turns is kept without use.
const FoundLife = 7 * 24 * time.Hour

// The roles of turns.
const (
	User      = "user"
	Assistant = "assistant"
)

// ID names a conversation. The zero ID names none.
type ID [16]byte

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// ParseID parses the hexadecimal form of an ID.
func ParseID(s string) (id ID, err error) {
	b, err := hex.DecodeString(s)
	if err != nil || len(b) != len(id) || strings.ToLower(s) != s {
		return id, fault.New(fault.Invalid, "conversation.ParseID", "a conversation's id has 32 hexadecimal digits")
	}
	return ID(b), nil
}

// Conversation is a conversation without its turns.
type Conversation struct {
	ID            ID
	Title         string
	Instructions  string // of the client
	Created, Used time.Time
	// Found: it was not created by a client, but found by the turns that a client repeats
	// in each request.
	Found     bool
	Next      uint64 // number of the next turn
	Bytes     uint64 // of the texts of all turns so far
	Forgotten uint64 // how often turns were forgotten
	Summary   Summary
}

// Summary tells what was said before a turn.
type Summary struct {
	Text    string
	Through uint64 // number of the first turn that it does not cover
	Made    time.Time
}

// Turn is one message.
type Turn struct {
	Number uint64
	Role   string // User or Assistant
	Text   string
	At     time.Time
	Chunks []percached.ChunkID // that the message rests on
}

// stored is a conversation in memory.
type stored struct {
	Conversation
	space kv.SpaceID
	tail  chain // of all turns
}

// Store keeps the conversations of all spaces.
type Store struct {
	db  *kv.DB
	now func() time.Time

	mu     sync.Mutex // held during writes, too
	spaces map[kv.SpaceID]map[ID]*stored
}

// Open opens the conversations in db. It drops records that cannot be read.
func Open(db *kv.DB, now func() time.Time) (*Store, error) {
	s := &Store{db: db, now: now, spaces: map[kv.SpaceID]map[ID]*stored{}}
	return s, fault.Wrap("conversation.Open", s.load(nil))
}

// LoadSpace reads the conversations of a space whose records were written into the database
// since Open, by an import.
func (s *Store) LoadSpace(space string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := kv.NewSpaceID(space)
	return fault.Wrap("conversation.LoadSpace", s.load(id[:]))
}

// of returns the conversations of a space. The caller holds mu.
func (s *Store) of(space kv.SpaceID) map[ID]*stored {
	if s.spaces[space] == nil {
		s.spaces[space] = map[ID]*stored{}
	}
	return s.spaces[space]
}

// find returns a conversation. The caller holds mu.
func (s *Store) find(space string, id ID) (*stored, error) {
	c := s.spaces[kv.NewSpaceID(space)][id]
	if c == nil {
		return nil, fault.New(fault.NotFound, "conversation", "there is no conversation %s", id)
	}
	return c, nil
}

// Create creates a conversation with a title and the client's instructions. If the space has
// MaxConversations that clients created, one more is a Conflict. Of those found by their turns
// the one that was used least recently makes room.
func (s *Store) Create(space string, c Conversation) (Conversation, error) {
	const op = "conversation.Create"
	switch {
	case len(c.Title) > maxTitle:
		return c, fault.New(fault.Invalid, op, "the title has %d bytes, the limit is %d", len(c.Title), maxTitle)
	case len(c.Instructions) > maxInstructions:
		return c, fault.New(fault.Invalid, op, "the instructions have %d bytes, the limit is %d", len(c.Instructions), maxInstructions)
	case !utf8.ValidString(c.Title) || !utf8.ValidString(c.Instructions):
		return c, fault.New(fault.Invalid, op, "the title or the instructions are not valid UTF-8")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = rand.Read(c.ID[:]) // never fails
	c.Created = s.now().UTC().Truncate(time.Millisecond)
	c.Used, c.Next, c.Summary = c.Created, 0, Summary{}
	n := &stored{Conversation: c, space: kv.NewSpaceID(space)}
	if err := s.expire(n.space, c.Found); err != nil {
		return c, fault.Wrap(op, err)
	}
	if !c.Found && s.created(n.space) >= MaxConversations {
		return c, fault.New(fault.Conflict, op, "the space has %d conversations, the limit; delete one", MaxConversations)
	}
	if err := s.put(n, nil); err != nil {
		return c, fault.Wrap(op, err)
	}
	s.of(n.space)[c.ID] = n
	return c, nil
}

// created counts the conversations of a space that clients created. The caller holds mu.
func (s *Store) created(space kv.SpaceID) (n int) {
	for _, c := range s.of(space) {
		if !c.Found {
			n++
		}
	}
	return n
}

// expire removes conversations found by their turns: those unused for FoundLife, and the
// least recently used one if another comes and there is no room for it. The caller holds mu.
func (s *Store) expire(space kv.SpaceID, another bool) error {
	var found []*stored
	for _, c := range s.of(space) {
		if c.Found {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, func(a, b *stored) int { return a.Used.Compare(b.Used) })
	for i, c := range found {
		if s.now().Sub(c.Used) < FoundLife && (!another || len(found)-i < MaxFound) {
			break
		}
		if _, err := s.delete(c); err != nil {
			return err
		}
	}
	return nil
}

// List returns the conversations of a space that clients created, the latest used first.
func (s *Store) List(space string) []Conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Conversation
	for _, c := range s.spaces[kv.NewSpaceID(space)] {
		if !c.Found {
			all = append(all, c.Conversation)
		}
	}
	slices.SortFunc(all, func(a, b Conversation) int {
		return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.ID.String(), b.ID.String()))
	})
	return all
}

// Has reports whether a space has a conversation.
func (s *Store) Has(space string, id ID) bool {
	_, ok := s.Head(space, id)
	return ok
}

// Head returns a conversation without its turns.
func (s *Store) Head(space string, id ID) (Conversation, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.spaces[kv.NewSpaceID(space)][id]
	if c == nil {
		return Conversation{}, false
	}
	return c.Conversation, true
}

// Count returns how many conversations a space has.
func (s *Store) Count(space string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.spaces[kv.NewSpaceID(space)])
}

// Get returns a conversation and its turns, oldest first. It skips turns that cannot be
// read.
func (s *Store) Get(space string, id ID) (Conversation, []Turn, error) {
	const op = "conversation.Get"
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(space, id)
	if err != nil {
		return Conversation{}, nil, fault.Wrap(op, err)
	}
	turns, _, err := s.turns(c)
	return c.Conversation, turns, fault.Wrap(op, err)
}

// turns returns the turns of a conversation, and the keys of those that cannot be read.
func (s *Store) turns(c *stored) (turns []Turn, bad [][]byte, err error) {
	err = s.db.View(func(tx *kv.Tx) error {
		return tx.Scan(turnsKey(c.space, c.ID), func(key, value []byte, damage error) error {
			var t Turn
			err := damage
			if err == nil && len(key) == keyLength+8 {
				t, err = decodeTurn(key, value)
			}
			if err != nil || t.Role == "" {
				bad = append(bad, slices.Clone(key))
			} else {
				turns = append(turns, t)
			}
			return nil
		})
	})
	return turns, bad, err
}

// Append adds turns to a conversation, all or none.
func (s *Store) Append(space string, id ID, turns ...Turn) (Conversation, error) {
	const op = "conversation.Append"
	for i, t := range turns {
		switch {
		case t.Role != User && t.Role != Assistant:
			return Conversation{}, fault.New(fault.Invalid, op, "turn %d: its role is neither user nor assistant", i)
		case len(t.Text) > maxText:
			return Conversation{}, fault.New(fault.Invalid, op, "turn %d has %d bytes, the limit is %d", i, len(t.Text), maxText)
		case !utf8.ValidString(t.Text):
			return Conversation{}, fault.New(fault.Invalid, op, "turn %d is not valid UTF-8", i)
		case len(t.Chunks) > maxChunks: // without all of them, a deletion would leave the turn
			return Conversation{}, fault.New(fault.Conflict, op, "turn %d rests on %d chunks, the limit is %d; begin another conversation", i, len(t.Chunks), maxChunks)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(space, id)
	if err != nil {
		return Conversation{}, fault.Wrap(op, err)
	}
	if c.Next+uint64(len(turns)) > MaxTurns {
		return Conversation{}, fault.New(fault.Conflict, op, "the conversation has %d turns, the limit is %d; begin another", c.Next, MaxTurns)
	}
	next := *c
	next.Used = s.now().UTC().Truncate(time.Millisecond)
	for _, t := range turns {
		next.Bytes += uint64(len(t.Text))
	}
	if next.Bytes > MaxBytes {
		return Conversation{}, fault.New(fault.Conflict, op, "the conversation has %d bytes, the limit is %d; begin another", c.Bytes, MaxBytes)
	}
	for i := range turns {
		turns[i].Number = next.Next
		if turns[i].At.IsZero() {
			turns[i].At = next.Used
		}
		next.Next++
		next.tail = next.tail.add(turns[i])
	}
	if err := s.put(&next, turns); err != nil {
		return Conversation{}, fault.Wrap(op, err)
	}
	*c = next
	return c.Conversation, nil
}

// put writes a conversation and new turns.
func (s *Store) put(c *stored, turns []Turn) error {
	return s.db.Update(func(tx *kv.Tx) error {
		for _, t := range turns {
			key := turnKey(c.space, c.ID, t.Number)
			if err := tx.Set(key, encodeTurn(key, t)); err != nil {
				return err
			}
		}
		key := headKey(c.space, c.ID)
		return tx.Set(key, encodeHead(key, c))
	})
}

// Summarise stores the summary of a conversation that Get returned. It is a Conflict if
// turns were forgotten since, or a later summary was stored.
func (s *Store) Summarise(space string, was Conversation, text string, through uint64) error {
	const op = "conversation.Summarise"
	s.mu.Lock()
	defer s.mu.Unlock()
	c, err := s.find(space, was.ID)
	if err != nil {
		return fault.Wrap(op, err)
	}
	if c.Forgotten != was.Forgotten || c.Summary.Through > through || through > c.Next || len(text) > maxText {
		return fault.New(fault.Conflict, op, "the conversation changed while it was summarised")
	}
	next := *c
	next.Summary = Summary{Text: strings.ToValidUTF8(text, ""), Through: through, Made: s.now().UTC().Truncate(time.Millisecond)}
	if err := s.put(&next, nil); err != nil {
		return fault.Wrap(op, err)
	}
	*c = next
	return nil
}

// Find returns the conversation whose turns a client repeats, the one with the most of
// them, and how many of the turns it has.
func (s *Store) Find(space string, turns []Turn) (c Conversation, has int, ok bool) {
	at := map[chain]int{}
	var sum chain
	for i, t := range turns {
		sum = sum.add(t)
		at[sum] = i + 1
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, o := range s.spaces[kv.NewSpaceID(space)] {
		if n := at[o.tail]; n > has && o.Found && o.Forgotten == 0 {
			c, has, ok = o.Conversation, n, true
		}
	}
	return c, has, ok
}

func (s *Store) remove(keys [][]byte) error {
	b := s.db.Bulk()
	defer b.Cancel()
	var errs error
	for _, k := range keys {
		errs = errors.Join(errs, b.Delete(k))
	}
	return cmp.Or(errs, b.Flush())
}
