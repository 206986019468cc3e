package kv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/dgraph-io/badger/v4/fb"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// inspectTable holds a table of badger's against its checksums. From the end:
// the length of a checksum, the checksum, the length of the index, the index
// that it covers; the index names the blocks.
func inspectTable(b []byte) error {
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
		if uint64(at.offset)+uint64(at.length) > uint64(len(rest)) {
			return fmt.Errorf("block %d is not in the file", i)
		}
		data, sum, err := cutSum(rest[at.offset:][:at.length])
		if err != nil {
			return fmt.Errorf("block %d: %w", i, err)
		}
		if crc32.Checksum(data, castagnoli) != sum {
			return fmt.Errorf("block %d does not match its checksum", i)
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
