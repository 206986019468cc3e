package qkvtree

import (
	"bytes"
	"testing"
)

func TestCounterBytes(t *testing.T) {
	at := []byte("C-some-key")
	c := counters{hits: 1, priority: 1 << 40, tick: 3, used: -4}
	b := c.encode(at)
	if len(b) != counterSize {
		t.Errorf("%d bytes, want %d", len(b), counterSize)
	}
	if got, err := decodeCounters(b, at); err != nil || got != c {
		t.Error(got, err)
	}
	if _, err := decodeCounters(b, []byte("C-other")); err == nil {
		t.Error("read under another key")
	}
	for i := range b { // every byte counts
		d := bytes.Clone(b)
		d[i] ^= 0x10
		if _, err := decodeCounters(d, at); err == nil {
			t.Errorf("byte %d can be flipped", i)
		}
		if _, err := decodeCounters(b[:i], at); err == nil {
			t.Errorf("cut to %d bytes they are read", i)
		}
	}
	a := age{clock: 5, tick: 1 << 50}
	b = a.encode(at)
	if got, err := decodeAge(b, at); err != nil || got != a || len(b) != ageSize {
		t.Error(got, err)
	}
}

// Decoded counters encode to their original bytes.
func FuzzCounters(f *testing.F) {
	at := []byte("C-some-key")
	f.Add(counters{hits: 1, priority: 2, tick: 3, used: 4}.encode(at))
	f.Add(age{clock: 1, tick: 2}.encode(at))
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 4 { // add a valid checksum, otherwise no input would pass it
			b = append(bytes.Clone(b[:len(b)-4]), 0, 0, 0, 0)
			sum := checksum(at, b[:len(b)-4])
			for i := range 4 {
				b[len(b)-4+i] = byte(sum >> (8 * i))
			}
		}
		if c, err := decodeCounters(b, at); err == nil && !bytes.Equal(c.encode(at), b) {
			t.Errorf("%x encodes to %x", b, c.encode(at))
		}
		if a, err := decodeAge(b, at); err == nil && !bytes.Equal(a.encode(at), b) {
			t.Errorf("%x encodes to %x", b, a.encode(at))
		}
	})
}
