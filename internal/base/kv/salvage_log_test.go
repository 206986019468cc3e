package kv

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"testing"
)

// logEntry is one entry of a log, as badger writes it.
func logEntry(mark byte, key string, version uint64, value string) []byte {
	full := binary.BigEndian.AppendUint64([]byte(key), ^version)
	b := []byte{mark, 0}
	for _, n := range []int{len(full), len(value), 0} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	b = append(append(b, full...), value...)
	return binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// One damaged byte costs the entry that it is in, wherever it lies, and never what
// stands behind it.
func TestSalvageLogGoesOn(t *testing.T) {
	var log []byte
	const entries = 12
	for i := range uint64(entries) {
		log = append(log, logEntry(0, fmt.Sprintf("key %d", i), i+1, fmt.Sprintf("the value of %d", i))...)
	}
	log = append(log, make([]byte, 4096)...) // the file is longer than what was written
	for _, flip := range []byte{0x01, 0x08, 0x80, 0xff} {
		for at := range len(log) - 4096 {
			b := append([]byte(nil), log...)
			b[at] ^= flip
			read := map[string]string{}
			whole, err := salvageLog(append(make([]byte, logHeader), b...), nil, func(e *stored) error {
				read[string(e.key)] = string(e.value)
				return nil
			})
			if err != nil || whole || len(read) != entries-1 {
				t.Fatalf("byte %d by %#x: read %d of %d, whole %v, %v", at, flip, len(read), entries, whole, err)
			}
			for key, value := range read {
				if want := "the value of " + key[len("key "):]; value != want {
					t.Fatalf("byte %d by %#x: %s is %q", at, flip, key, value)
				}
			}
		}
	}
}
