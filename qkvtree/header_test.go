package qkvtree

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
)

var mac, at = []byte("0123456789abcdef"), []byte("H-some-key")

var tokens = []int32{5, -1, 7}

// sample is the header of the example as a chunk or a turn of a space.
func sample(planes percached.Planes, turn bool) (*header, error) {
	at := position{path: percached.Path{1, 2}.Child(tokens), parent: percached.Path{1, 2}, chunk: percached.ChunkID{7}, tokens: tokens, turn: turn}
	return newHeader(groupID{space: "mails", model: "m", placement: percached.Parallel}, at, example(planes), time.Unix(1e9, 0))
}

func example(planes percached.Planes) *percached.Slice {
	s := &percached.Slice{Model: "m", Path: percached.Path{1, 2}.Child(tokens), Start: 64, Tokens: tokens, Planes: planes}
	s.Pieces = []percached.Piece{{From: 0, To: 2, KV: []byte("kv")}, {From: 2, To: 3, KV: []byte("k")}}
	for i := range s.Pieces {
		if planes == percached.QKV {
			s.Pieces[i].Q = []byte("qqq")
		}
		s.Pieces[i].Sum = s.Pieces[i].Checksum()
	}
	return s
}

func TestHeaderBytes(t *testing.T) {
	for _, turn := range []bool{false, true} {
		headerBytes(t, turn)
	}
}

func headerBytes(t *testing.T, turn bool) {
	h, err := sample(percached.QKV, turn)
	if err != nil {
		t.Fatal(err)
	}
	b := h.encode(mac, at)
	begin, want := "PQKV\x01\x00\x01\x01", fixedSize+5+1+4+3*4+4+2*entrySize+macSize
	if turn {
		begin, want = "PQKV\x02\x00\x01\x01\x00\x01\x00\xca\x9a\x3b\x00\x00\x00\x00", want+10
	}
	if len(b) != want || h.len() != want {
		t.Errorf("%d bytes, said to be %d, want %d", len(b), h.len(), want)
	}
	if want := append([]byte(begin), h.slice.Path[:]...); !bytes.HasPrefix(b, want) {
		t.Errorf("begins with %x, want %x", b[:len(want)], want)
	}
	got, err := decode(b, mac, at)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(h, got, cmp.AllowUnexported(header{}, size{})); d != "" {
		t.Error(d)
	}
	for i := range b { // every byte counts
		c := bytes.Clone(b)
		c[i] ^= 0x10
		if _, err := decode(c, mac, at); err == nil {
			t.Errorf("byte %d can be flipped", i)
		}
		if _, err := decode(b[:i], mac, at); err == nil {
			t.Errorf("cut to %d bytes it is read", i)
		}
	}
}

func TestHeaderOfAPackedSlice(t *testing.T) {
	h, err := sample(percached.KV, false)
	if err != nil {
		t.Fatal(err)
	}
	h.slice.Form = percached.Q4
	b := h.encode(mac, at)
	if want := append([]byte("PQKV\x02\x00\x00\x01\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"), h.slice.Path[:]...); !bytes.HasPrefix(b, want) || len(b) != h.len() {
		t.Errorf("%d bytes begin with %x, want %x", len(b), b[:len(want)], want)
	}
	got, err := decode(b, mac, at)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(h, got, cmp.AllowUnexported(header{}, size{})); d != "" {
		t.Error(d)
	}
	for _, bad := range [][2]byte{{8, 0}, {8, 3}, {8, 255}, {9, 2}, {10, 1}} {
		c := bytes.Clone(b[:len(b)-macSize])
		c[bad[0]] = bad[1]
		if _, err := decode(append(c, appendMAC(mac, at, c)...), mac, at); err == nil {
			t.Errorf("byte %d is read as %d", bad[0], bad[1])
		}
	}
}

// A parsed header is well formed and parses again after encoding. The MAC is replaced,
// otherwise no input would pass it.
func FuzzHeader(f *testing.F) {
	for _, p := range []percached.Planes{percached.KV, percached.QKV} {
		h, err := sample(p, p == percached.KV)
		if err != nil {
			f.Fatal(err)
		}
		b := h.encode(mac, at)
		f.Add(b[:len(b)-macSize])
		h.slice.Form = percached.Q4
		b = h.encode(mac, at)
		f.Add(b[:len(b)-macSize])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		h, err := decode(append(bytes.Clone(b), appendMAC(mac, at, b)...), mac, at)
		if err != nil {
			return
		}
		again := h.encode(mac, at)
		if again = again[:len(again)-macSize]; !bytes.Equal(b, again) {
			t.Errorf("%x encodes to %x", b, again)
		}
	})
}
