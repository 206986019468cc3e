package answer

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"slices"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
)

// past finds a space's history, at first on disk. The caller holds write.
func (h *History) past(space string) (*past, error) {
	p := h.of(space)
	if p.loaded {
		return p, nil
	}
	var keys [][]byte
	var last uint64
	prefix := historyKey('q', space)
	err := h.db.View(func(tx *kv.Tx) error {
		if err := tx.Keys(prefix, func(k []byte, _ int64) error {
			if len(k) == len(prefix)+8 {
				keys = append(keys, slices.Clone(k))
				last = number(k) + 1
			}
			return nil
		}); err != nil {
			return err
		}
		next, err := readNumber(tx, historyKey('n', space))
		if err != nil {
			return err
		}
		last = max(last, next)
		return tx.Scan(historyKey('c', space), func(k, v []byte, _ error) error {
			last = max(last, decodeNumber(k, v))
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	p.keys, p.next, p.loaded = keys, last, true
	return p, nil
}

const (
	// A transaction holds only so much: how many records one writes, and how many
	// one removes.
	historyPart = 100
	historyTrim = 1000
)

// save stores what is pending, and removes what is too much then. The caller holds
// write; what fails is pending again, before what came meanwhile.
func (h *History) save(space string, p *past) error {
	pending := h.take(p)
	if len(pending) == 0 {
		return nil // nor trims: who only reads may not know the daemon's limit
	}
	for len(pending) > 0 {
		part := pending[:min(historyPart, len(pending))]
		if err := h.store(space, p, part); err != nil {
			h.giveBack(p, pending)
			return err
		}
		pending = pending[len(part):]
	}
	return h.trim(p)
}

// trim removes the oldest records beyond the limit: many, if it was higher before.
func (h *History) trim(p *past) error {
	for len(p.keys) > h.limit {
		n := min(historyTrim, len(p.keys)-h.limit)
		if err := h.remove(p.keys[:n]); err != nil {
			return err
		}
		p.keys = p.keys[n:]
	}
	return nil
}

// store writes records, and removes as many of the oldest as must make room.
func (h *History) store(space string, p *past, rs []Record) error {
	prefix := historyKey('q', space)
	keys, next := slices.Clone(p.keys), p.next
	err := h.db.Update(func(tx *kv.Tx) error {
		for _, r := range rs {
			v, err := json.Marshal(r)
			if err != nil {
				return fault.New(fault.Internal, "answer.History", "%w", err)
			}
			k := binary.BigEndian.AppendUint64(slices.Clone(prefix), next)
			if err := tx.Set(k, append([]byte{historyVersion}, v...)); err != nil {
				return err
			}
			keys, next = append(keys, k), next+1
		}
		if err := putNumber(tx, historyKey('n', space), next); err != nil {
			return err
		}
		for i := 0; i < len(rs) && len(keys) > h.limit; i++ {
			if err := tx.Delete(keys[0]); err != nil {
				return err
			}
			keys = keys[1:]
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.keys, p.next = keys, next
	return nil
}

func historyKey(kind byte, space string) []byte {
	id := kv.NewSpaceID(space)
	return append([]byte{'H', kind}, id[:]...)
}

// number is that of a record's key.
func number(key []byte) uint64 { return binary.BigEndian.Uint64(key[len(key)-8:]) }

func encodeNumber(key []byte, n uint64) []byte {
	b := binary.BigEndian.AppendUint64([]byte{historyVersion}, n)
	return binary.BigEndian.AppendUint32(b, sumOf(key, b))
}

func putNumber(tx *kv.Tx, key []byte, n uint64) error { return tx.Set(key, encodeNumber(key, n)) }

// readNumber gives 0 for what is not there, or damaged.
func readNumber(tx *kv.Tx, key []byte) (uint64, error) {
	b, err := tx.Get(key)
	if fault.KindOf(err) == fault.NotFound || errors.Is(err, kv.ErrDamaged) {
		return 0, nil
	}
	return decodeNumber(key, b), err
}

func decodeNumber(key, b []byte) uint64 {
	if len(b) != 1+8+4 || b[0] != historyVersion || sumOf(key, b[:9]) != binary.BigEndian.Uint32(b[9:]) {
		return 0
	}
	return binary.BigEndian.Uint64(b[1:])
}

func sumOf(key, b []byte) uint32 {
	table := crc32.MakeTable(crc32.Castagnoli)
	return crc32.Update(crc32.Checksum(key, table), table, b)
}

// readRecord says whether a record can be read; the error is the database's.
func readRecord(tx *kv.Tx, key []byte) (r Record, whole bool, err error) {
	b, err := tx.Get(key)
	if errors.Is(err, kv.ErrDamaged) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	r, err = decodeRecord(b)
	return r, err == nil, nil
}

func decodeRecord(b []byte) (Record, error) {
	const op = "answer.History"
	if len(b) == 0 || b[0] != historyVersion {
		return Record{}, fault.New(fault.Internal, op, "a record is of an unknown format")
	}
	var r Record
	if err := json.Unmarshal(b[1:], &r); err != nil {
		return Record{}, fault.New(fault.Internal, op, "a record is damaged")
	}
	return r, nil
}
