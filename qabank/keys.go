package qabank

import "github.com/percached/percached/internal/base/kv"

// The record types, behind the 'Q' of every key. See FORMAT.md.
const (
	bankByte    = 'Q'
	spaceByte   = 's'
	contentByte = 'e'
	stateByte   = 'c'
	vetoByte    = 'v'
)

const idAt = 2 + len(kv.SpaceID{})

func key(kind byte, space kv.SpaceID, ids ...ID) []byte {
	k := append([]byte{bankByte, kind}, space[:]...)
	for _, id := range ids {
		k = append(k, id[:]...)
	}
	return k
}

// splitKey takes a key apart that holds n IDs.
func splitKey(k []byte, n int) (space kv.SpaceID, ids []ID, ok bool) {
	if len(k) != idAt+n*len(ID{}) {
		return space, nil, false
	}
	space = kv.SpaceID(k[2:])
	for i := range n {
		ids = append(ids, ID(k[idAt+i*len(ID{}):]))
	}
	return space, ids, true
}

// recordBytes is what the two records of an entry take.
func recordBytes(content, state []byte) int64 {
	return int64(2*(idAt+len(ID{})) + len(content) + len(state))
}
