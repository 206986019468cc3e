package scheduler

import (
	"encoding/binary"

	"github.com/percached/percached/internal/base/kv"
)

// The record types, behind the 'S' of every key. See FORMAT.md.
const (
	ownByte    = 'S'
	spaceByte  = 's'
	queueByte  = 'q'
	pageByte   = 'l'
	creditByte = 'c'
	pauseByte  = 'p'
	budgetByte = 'b'
)

const restAt = 2 + len(kv.SpaceID{})

func recordKey(kind byte, space kv.SpaceID, rest ...byte) []byte {
	return append(append([]byte{ownByte, kind}, space[:]...), rest...)
}

func pageKey(space kv.SpaceID, d date) []byte {
	return binary.BigEndian.AppendUint32(recordKey(pageByte, space), uint32(d))
}

// splitKey takes a key apart that has so many bytes behind its space.
func splitKey(k []byte, n int) (space kv.SpaceID, rest []byte, ok bool) {
	if len(k) != restAt+n {
		return space, nil, false
	}
	return kv.SpaceID(k[2:restAt]), k[restAt:], true
}

// dateFrom is the end of a page's key.
func dateFrom(tail []byte) date { return date(binary.BigEndian.Uint32(tail)) }
