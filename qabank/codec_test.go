package qabank

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
	"github.com/percached/percached/internal/kv"
)

func sample() Entry {
	return Entry{
		Question: "When?", Answer: "Now.", Answered: true, Refused: true, Vector: []float32{1, -2, 0.5}, Embedder: "e", Origin: "asked", Settings: "s",
		Evidence: []percached.Evidence{{Chunk: percached.ChunkID{1}, Version: 2}, {Chunk: percached.ChunkID{3}, Version: 4}},
		Made:     time.Unix(1, 2).UTC(), Expires: time.Unix(3, 4).UTC(),
	}
}

func TestCodec(t *testing.T) {
	e := sample()
	got, err := decodeContent(encodeContent(&e))
	if d := cmp.Diff(e, got); d != "" || err != nil {
		t.Error(d, err)
	}
	s := state{hits: 1, used: time.Unix(5, 6).UTC(), seen: 2, rank: 3.5, stale: true, staleWhy: "x"}
	st, err := decodeState(encodeState(s))
	if d := cmp.Diff(s, st, cmp.AllowUnexported(state{})); d != "" || err != nil {
		t.Error(d, err)
	}
	v := veto{chunks: []percached.ChunkID{{1}, {2}}}
	chunks, err := decodeVeto(encodeVeto(v))
	if d := cmp.Diff(v.chunks, chunks); d != "" || err != nil {
		t.Error(d, err)
	}
}

// Every byte that is flipped, and every byte that is missing, is found out.
func TestCodecFindsDamage(t *testing.T) {
	e := sample()
	for name, r := range map[string]struct {
		value  []byte
		decode func([]byte) error
	}{
		"content": {encodeContent(&e), func(b []byte) error { _, err := decodeContent(b); return err }},
		"state":   {encodeState(state{staleWhy: "x"}), func(b []byte) error { _, err := decodeState(b); return err }},
		"veto":    {encodeVeto(veto{chunks: []percached.ChunkID{{1}}}), func(b []byte) error { _, err := decodeVeto(b); return err }},
	} {
		for i := range r.value {
			flipped := append([]byte{}, r.value...)
			flipped[i] ^= 0x41
			if err := r.decode(flipped); err == nil {
				t.Errorf("%s: byte %d flipped, no error", name, i)
			}
			if err := r.decode(r.value[:i]); err == nil {
				t.Errorf("%s: cut at %d, no error", name, i)
			}
		}
		later := sealed(r.value[1 : len(r.value)-4])
		later[0]++
		later = binary.LittleEndian.AppendUint32(later[:len(later)-4], crc32.Checksum(later[:len(later)-4], castagnoli))
		if err := r.decode(later); fault.KindOf(err) != fault.Unsupported {
			t.Errorf("%s: a later version: %v", name, err)
		}
	}
}

// sealed gives bytes a right version and checksum, so that the decoders get to
// see what is between.
func sealed(b []byte) []byte {
	w := append([]byte{formatVersion}, b...)
	return binary.LittleEndian.AppendUint32(w, crc32.Checksum(w, castagnoli))
}

func FuzzDecode(f *testing.F) {
	e := sample()
	for _, b := range [][]byte{encodeContent(&e), encodeState(state{}), encodeVeto(veto{}), {1, 0xff, 0xff, 0xff, 0xff, 0xff}} {
		f.Add(b[1 : len(b)-4])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		value := sealed(b)
		if e, err := decodeContent(value); err == nil {
			if again, err := decodeContent(encodeContent(&e)); err != nil || fmt.Sprint(again) != fmt.Sprint(e) {
				t.Errorf("%+v is read back as %+v, %v", e, again, err)
			}
		} else if !errors.Is(err, errDamaged) {
			t.Errorf("%v", err)
		}
		if s, err := decodeState(value); err == nil && (math.IsNaN(s.rank) || s.rank < 0) {
			t.Errorf("rank %v", s.rank)
		}
		if c, err := decodeVeto(value); err == nil && len(c) > len(b) {
			t.Error("more chunks than bytes")
		}
	})
}

// What cannot be read when the bank is opened is removed and told; vetoes hold
// all the same; what is of a later version is left alone.
func TestOpenDamaged(t *testing.T) {
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 4<<20, 0
	db, err := kv.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	damaged := 0
	options := Options{Limit: 1 << 20, Now: time.Now, Observer: Observer{Damaged: func(error) { damaged++ }}}
	b, err := Open(db, options)
	if err != nil {
		t.Fatal(err)
	}
	put := func(question string) ID {
		id, err := b.Put(t.Context(), Entry{Space: "mail", Question: question, Answer: "x", Answered: true})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	content, stateless, whole := put("content"), put("state"), put("whole")
	if err := b.Veto(t.Context(), "mail", "other", whole); err != nil {
		t.Fatal(err)
	}
	hash := kv.NewSpaceID("mail")
	v := veto{a: whole, b: NewID("mail", "other")}
	if string(v.a[:]) > string(v.b[:]) {
		v.a, v.b = v.b, v.a
	}
	set := func(k, v []byte) {
		t.Helper()
		if err := db.Update(func(tx *kv.Tx) error { return tx.Set(k, v) }); err != nil {
			t.Fatal(err)
		}
	}
	set(key(contentByte, hash, content), []byte("nonsense"))
	set(key(stateByte, hash, stateless), []byte{formatVersion})
	set(key(vetoByte, hash, v.a, v.b), []byte{formatVersion, 7})
	set(key(stateByte, hash, ID{1}), encodeState(state{}))
	for round := range 2 {
		if b, err = Open(db, options); err != nil {
			t.Fatal(err)
		}
		if s := b.Stats("mail"); s.Entries != 1 || s.Vetoes != 1 {
			t.Errorf("round %d: %+v", round, s)
		}
	}
	if damaged != 3 {
		t.Errorf("%d told, want 3: content, state, and the content without its state", damaged)
	}
	later := []byte{formatVersion + 1, 0}
	set(key(contentByte, hash, whole), binary.LittleEndian.AppendUint32(later, crc32.Checksum(later, castagnoli)))
	if _, err := Open(db, options); fault.KindOf(err) != fault.Unsupported {
		t.Error(err)
	}
}
