package conversation

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

const (
	ownByte  = 'V'
	headByte = 'c'
	turnByte = 't'
	version  = 1
)

func spaceKey(kind byte, space kv.SpaceID) []byte { return append([]byte{ownByte, kind}, space[:]...) }

func headKey(space kv.SpaceID, id ID) []byte { return append(spaceKey(headByte, space), id[:]...) }

func turnsKey(space kv.SpaceID, id ID) []byte { return append(spaceKey(turnByte, space), id[:]...) }

func turnKey(space kv.SpaceID, id ID, number uint64) []byte {
	return binary.BigEndian.AppendUint64(turnsKey(space, id), number)
}

// keyLength is the length of a conversation's key.
const keyLength = 2 + 16 + 16

// parseKey returns the space and the conversation of a key, and whether it has both.
func parseKey(key []byte) (space kv.SpaceID, id ID, ok bool) {
	if len(key) < keyLength {
		return space, id, false
	}
	copy(space[:], key[2:])
	copy(id[:], key[2+len(space):])
	return space, id, true
}

// chain is the hash of all turns of a conversation, in order.
type chain [16]byte

// add returns the hash with one turn more.
func (c chain) add(t Turn) chain {
	b := append(c[:len(c):len(c)], roleByte(t.Role))
	sum := sha256.Sum256(append(b, t.Text...))
	return chain(sum[:16])
}

func roleByte(role string) byte {
	if role == Assistant {
		return 1
	}
	return 0
}

func encodeHead(key []byte, c *stored) []byte {
	w := sealed.NewWriter(version, key)
	w.Time(c.Created)
	w.Time(c.Used)
	w.U64(c.Next)
	w.U64(c.Bytes)
	w.U64(c.Forgotten)
	w.Byte(map[bool]byte{true: 1}[c.Found])
	w.Raw(c.tail[:])
	w.Text(c.Title)
	w.Text(c.Instructions)
	w.Text(c.Summary.Text)
	w.U64(c.Summary.Through)
	w.Time(c.Summary.Made)
	return w.Seal()
}

func decodeHead(key, value []byte) (*stored, error) {
	r, err := sealed.NewReader(key, value, version, version)
	if err != nil {
		return nil, err
	}
	c := &stored{Conversation: Conversation{Created: r.Time(), Used: r.Time(), Next: r.U64(), Bytes: r.U64(), Forgotten: r.U64(), Found: r.Flag()}}
	copy(c.tail[:], r.Take(len(c.tail)))
	c.Title, c.Instructions = r.Text(maxTitle), r.Text(maxInstructions)
	c.Summary = Summary{Text: r.Text(maxText), Through: r.U64(), Made: r.Time()}
	return c, r.End("conversation")
}

func encodeTurn(key []byte, t Turn) []byte {
	w := sealed.NewWriter(version, key)
	w.Time(t.At)
	w.Byte(roleByte(t.Role))
	w.Text(t.Text)
	w.Count(len(t.Chunks))
	for _, c := range t.Chunks {
		w.Raw(c[:])
	}
	return w.Seal()
}

func decodeTurn(key, value []byte) (Turn, error) {
	r, err := sealed.NewReader(key, value, version, version)
	if err != nil {
		return Turn{}, err
	}
	t := Turn{Number: binary.BigEndian.Uint64(key[len(key)-8:]), At: r.Time(), Role: User}
	if r.Flag() {
		t.Role = Assistant
	}
	t.Text = r.Text(maxText)
	for range r.Count(maxChunks, len(percached.ChunkID{})) {
		t.Chunks = append(t.Chunks, percached.ChunkID(bytes.Clone(r.Take(len(percached.ChunkID{})))))
	}
	return t, r.End("turn")
}

// load reads one space, or all without one.
func (s *Store) load(only []byte) error {
	var bad [][]byte
	err := s.db.View(func(tx *kv.Tx) error {
		if err := tx.Scan(append([]byte{ownByte, headByte}, only...), func(key, value []byte, damage error) error {
			space, id, ok := parseKey(key)
			var c *stored
			err := damage
			if ok && damage == nil {
				c, err = decodeHead(key, value)
			}
			if !ok || c == nil || err != nil {
				bad = append(bad, slices.Clone(key))
				return nil
			}
			c.ID, c.space = id, space
			s.of(space)[id] = c
			return nil
		}); err != nil {
			return err
		}
		return tx.Keys(append([]byte{ownByte, turnByte}, only...), func(key []byte, _ int64) error {
			space, id, ok := parseKey(key)
			if !ok || s.spaces[space][id] == nil {
				bad = append(bad, slices.Clone(key))
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return s.remove(bad)
}
