package answer

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// Every byte of a number is checked, and the number of one key is refused for another.
func TestNumberBytes(t *testing.T) {
	key, other := historyKey('n', "a"), historyKey('n', "b")
	b := encodeNumber(key, 1<<40+7)
	if got := decodeNumber(key, b); got != 1<<40+7 {
		t.Error(got)
	}
	if got := decodeNumber(other, b); got != 0 {
		t.Error("read under another key:", got)
	}
	for i := range b {
		c := bytes.Clone(b)
		c[i] ^= 0x10
		if decodeNumber(key, c) != 0 || decodeNumber(key, b[:i]) != 0 {
			t.Errorf("byte %d can be flipped, or the last", i)
		}
	}
}

// A number that was read encodes to the same bytes, and no input breaks the reader.
func FuzzHistory(f *testing.F) {
	key := historyKey('c', "a")
	f.Add(encodeNumber(key, 1))
	f.Add([]byte(`?{"asked":"2025-03-04T12:00:00Z","question":"When?","chunks":["00000000000000000000000000000000"]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4 { // with a valid version and sum, otherwise no input would get past them
			b = bytes.Clone(b)
			b[0] = historyVersion
			c := binary.BigEndian.AppendUint32(b[:len(b)-4:len(b)-4], sumOf(key, b[:len(b)-4]))
			if n := decodeNumber(key, c); n != 0 && !bytes.Equal(encodeNumber(key, n), c) {
				t.Errorf("%x encodes to %x", c, encodeNumber(key, n))
			}
		}
		if r, err := decodeRecord(b); err != nil && (r.Question != "" || r.Chunks != nil) {
			t.Errorf("%+v of a record that cannot be read", r)
		}
	})
}
