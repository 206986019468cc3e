package qkvtree

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
)

// counters say how much a node is worth keeping. FORMAT.md has the bytes.
type counters struct {
	hits uint64
	// priority is hits plus the age of the tree at the last use.
	priority uint64
	tick     uint64 // of the last use; no two requests have the same
	used     int64  // Unix seconds of the last use
}

// age is the tree's own clocks.
type age struct {
	clock uint64 // priority of the last one evicted
	tick  uint64 // counts requests
}

const (
	counterSize = 1 + 4*8 + 4
	ageSize     = 1 + 2*8 + 4
	oneVersion  = 1 // of both records
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (c counters) encode(key []byte) []byte {
	return seal(key, c.hits, c.priority, c.tick, uint64(c.used))
}

func decodeCounters(b, key []byte) (counters, error) {
	v, err := unseal(b, key, 4)
	if err != nil {
		return counters{}, err
	}
	return counters{hits: v[0], priority: v[1], tick: v[2], used: int64(v[3])}, nil
}

func (a age) encode(key []byte) []byte { return seal(key, a.clock, a.tick) }

func decodeAge(b, key []byte) (age, error) {
	v, err := unseal(b, key, 2)
	if err != nil {
		return age{}, err
	}
	return age{clock: v[0], tick: v[1]}, nil
}

// seal writes numbers between a version and a checksum that covers the key too.
func seal(key []byte, vs ...uint64) []byte {
	b := append(make([]byte, 0, 1+8*len(vs)+4), oneVersion)
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, v)
	}
	return binary.LittleEndian.AppendUint32(b, sumOf(key, b))
}

func unseal(b, key []byte, n int) ([]uint64, error) {
	if len(b) != 1+8*n+4 || b[0] != oneVersion {
		return nil, errors.New("these are no counters of version 1")
	}
	body := b[:len(b)-4]
	if sumOf(key, body) != binary.LittleEndian.Uint32(b[len(body):]) {
		return nil, errors.New("the counters do not match their checksum")
	}
	vs := make([]uint64, n)
	for i := range vs {
		vs[i] = binary.LittleEndian.Uint64(b[1+8*i:])
	}
	return vs, nil
}

func sumOf(key, b []byte) uint32 {
	return crc32.Update(crc32.Checksum(key, castagnoli), castagnoli, b)
}
