package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/y"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// inspectTable holds a table of badger's against its checksums.
func inspectTable(b []byte) error {
	return eachBlock(b, func(_ []byte, err error) error { return err })
}

// eachBlock calls fn with every block of a table, and with what is wrong with it.
// From the end, a table is: the length of a checksum, the checksum, the length of
// the index, the index that it covers; the index names the blocks.
func eachBlock(b []byte, fn func(data []byte, damage error) error) error {
	rest, sum, err := cutSum(b)
	if err != nil {
		return err
	}
	rest, index, err := cutField(rest)
	if err != nil {
		return err
	}
	if crc32.Checksum(index, castagnoli) != sum {
		return errors.New("the index does not match its checksum")
	}
	blocks, err := blocksOf(index)
	if err != nil {
		return err
	}
	for i, at := range blocks {
		data, err := blockAt(rest, at)
		if err != nil {
			err = fmt.Errorf("block %d: %w", i, err)
		}
		if err := fn(data, err); err != nil {
			return err
		}
	}
	return nil
}

func blockAt(b []byte, at extent) ([]byte, error) {
	if uint64(at.offset)+uint64(at.length) > uint64(len(b)) {
		return nil, errors.New("it is not in the file")
	}
	data, sum, err := cutSum(b[at.offset:][:at.length])
	if err != nil {
		return nil, err
	}
	if crc32.Checksum(data, castagnoli) != sum {
		return data, errors.New("it does not match its checksum")
	}
	return data, nil
}

var errBlock = errors.New("an entry in a block cannot be read")

// eachInBlock calls fn with every version in a block that matched its checksum. A
// block is: entries, the offset of each, their count. An entry is: how much of its
// key is the first entry's, the length of the rest, the rest, and the value behind
// its marks and its time of expiry.
func eachInBlock(data []byte, fn func(*stored) error) error {
	if len(data) < 4 {
		return errBlock
	}
	n := int64(binary.BigEndian.Uint32(data[len(data)-4:]))
	if n > int64(len(data)-4)/4 {
		return errBlock
	}
	offsets := data[int64(len(data)-4)-4*n : len(data)-4]
	entries := data[:len(data)-4-len(offsets)]
	var first []byte
	for i := range int(n) {
		at := binary.NativeEndian.Uint32(offsets[4*i:])
		end := uint32(len(entries))
		if i+1 < int(n) {
			end = binary.NativeEndian.Uint32(offsets[4*i+4:])
		}
		if at > end || int64(end) > int64(len(entries)) || end-at < 4 {
			return errBlock
		}
		e := entries[at:end]
		shared, own := int(binary.NativeEndian.Uint16(e)), int(binary.NativeEndian.Uint16(e[2:]))
		e = e[4:]
		if shared > len(first) || own+3 > len(e) || shared+own < 8 {
			return errBlock
		}
		key := append(first[:shared:shared], e[:own]...)
		if i == 0 {
			first = key
		}
		value := e[own+2:]
		_, size := binary.Uvarint(value)
		if size <= 0 {
			return errBlock
		}
		if err := fn(&stored{key: y.ParseKey(key), version: y.ParseTs(key), mark: e[own], value: value[size:]}); err != nil {
			return err
		}
	}
	return nil
}

type extent struct{ offset, length uint32 }

// blocksOf reads an index that matched its checksum; what panics all the same
// is none.
func blocksOf(index []byte) (blocks []extent, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the index cannot be read: %v", p)
		}
	}()
	t := fb.GetRootAsTableIndex(index, 0)
	var bo fb.BlockOffset
	for i := range t.OffsetsLength() {
		if !t.Offsets(&bo, i) {
			return nil, fmt.Errorf("the index has no block %d", i)
		}
		blocks = append(blocks, extent{bo.Offset(), bo.Len()})
	}
	if len(blocks) == 0 {
		return nil, errors.New("the index names no blocks")
	}
	return blocks, nil
}

// cutSum takes a CRC-32C off the end: the checksum as a message of protocol
// buffers (field 2; field 1, the kind, is 0 and left out), then its length.
func cutSum(b []byte) (rest []byte, sum uint32, err error) {
	rest, m, err := cutField(b)
	if err != nil {
		return nil, 0, err
	}
	if len(m) == 0 { // a sum of 0 is left out, too
		return rest, 0, nil
	}
	v, n := binary.Uvarint(m[1:])
	if m[0] != 2<<3 || n <= 0 || 1+n != len(m) || v>>32 != 0 {
		return nil, 0, errors.New("there is no checksum")
	}
	return rest, uint32(v), nil
}

// cutField takes a field and its length off the end.
func cutField(b []byte) (rest, field []byte, err error) {
	if len(b) < 4 {
		return nil, nil, errors.New("it is cut short")
	}
	at := len(b) - 4
	n := int64(binary.BigEndian.Uint32(b[at:]))
	if n > int64(at) {
		return nil, nil, errors.New("a length in it is too great")
	}
	return b[:at-int(n)], b[at-int(n) : at], nil
}
