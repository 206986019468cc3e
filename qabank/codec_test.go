package qabank

import (
	"errors"
	"fmt"
	"math"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/sealed"
)

func sample() Entry {
	return Entry{
		Question: "When?", Answer: "Now.", Answered: true, Refused: true, Cut: true, Vector: []float32{1, -2, 0.5}, Embedder: "e", Origin: "asked", Settings: "s",
		Evidence: []percached.Evidence{{Chunk: percached.ChunkID{1}, Version: 2}, {Chunk: percached.ChunkID{3}, Version: 4}},
		Sources:  []percached.ChunkID{{5}, {1}},
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

// Every flipped or missing byte is detected.
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
		later := sealedAs(r.value[0]+1, r.value[1:len(r.value)-4])
		if err := r.decode(later); fault.KindOf(err) != fault.Unsupported {
			t.Errorf("%s: a later version: %v", name, err)
		}
	}
}

// Content of version 1 can be read, without sources and never as cut; it is written in
// today's version. The file contains the sample as written by an earlier release.
func TestContentOfVersion1(t *testing.T) {
	old, err := os.ReadFile("testdata/entry.v1")
	if err != nil {
		t.Fatal(err)
	}
	want := sample()
	want.Sources, want.Cut = nil, false
	got, err := decodeContent(old)
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
	for i := range old {
		if _, err := decodeContent(old[:i]); err == nil {
			t.Errorf("cut at %d, no error", i)
		}
	}
	if b := encodeContent(&got); b[0] != contentVersion || len(b) != len(old)+2 {
		t.Errorf("written anew in version %d, with %d bytes, once %d", b[0], len(b), len(old))
	}
	if _, err := decodeContent(sealedAs(0, old[1:len(old)-4])); !errors.Is(err, sealed.ErrDamaged) {
		t.Error(err)
	}
}

// A bank of an earlier release opens with all its entries, and they keep working.
func TestOpenVersion1(t *testing.T) {
	old, err := os.ReadFile("testdata/entry.v1")
	if err != nil {
		t.Fatal(err)
	}
	o := kv.Default()
	o.ValueLogFileSize, o.MemTableSize, o.MinFree = 4<<20, 4<<20, 0
	db, err := kv.Open(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	hash, id := kv.NewSpaceID("mail"), NewID("mail", "When?")
	name := sealed.NewWriter(formatVersion, nil)
	name.Text("mail")
	if err := db.Update(func(tx *kv.Tx) error {
		return errors.Join(
			tx.Set(key(spaceByte, hash), name.Seal()), tx.Set(key(contentByte, hash, id), old),
			tx.Set(key(stateByte, hash, id), encodeState(state{hits: 3, rank: 1})),
		)
	}); err != nil {
		t.Fatal(err)
	}
	b, err := Open(db, Default())
	if err != nil {
		t.Fatal(err)
	}
	before, _ := b.Usage()
	if e, err := b.Get("mail", id); err != nil || e.Answer != "Now." || e.Hits != 3 {
		t.Errorf("%+v, %v", e, err)
	}
	if err := b.Veto(t.Context(), "mail", "Other?", id); err != nil { // rewritten without its answer
		t.Fatal(err)
	}
	if after, _ := b.Usage(); after != before+2-int64(len("Now.")) {
		t.Errorf("%d bytes, then %d", before, after)
	}
	if b, err = Open(db, Default()); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Forget(t.Context(), "mail", []percached.ChunkID{{3}}); n != 1 || err != nil {
		t.Error(n, err)
	}
}

// sealedAs adds a version and a valid checksum, so that the decoders read what is
// between.
func sealedAs(version byte, b []byte) []byte {
	w := sealed.NewWriter(version, nil)
	w.Raw(b)
	return w.Seal()
}

func FuzzDecode(f *testing.F) {
	e := sample()
	old, err := os.ReadFile("testdata/entry.v1")
	if err != nil {
		f.Fatal(err)
	}
	for _, b := range [][]byte{encodeContent(&e), old, encodeState(state{}), encodeVeto(veto{}), {1, 0xff, 0xff, 0xff, 0xff, 0xff}} {
		f.Add(b[1 : len(b)-4])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for v := byte(formatVersion); v <= contentVersion; v++ {
			e, err := decodeContent(sealedAs(v, b))
			if err != nil {
				if !errors.Is(err, sealed.ErrDamaged) {
					t.Errorf("version %d: %v", v, err)
				}
				continue
			}
			if again, err := decodeContent(encodeContent(&e)); err != nil || fmt.Sprint(again) != fmt.Sprint(e) {
				t.Errorf("%+v is read back as %+v, %v", e, again, err)
			}
			if v < sourcesVersion && e.Sources != nil {
				t.Errorf("version %d has sources: %v", v, e.Sources)
			}
		}
		value := sealedAs(formatVersion, b)
		if s, err := decodeState(value); err == nil && (math.IsNaN(s.rank) || s.rank < 0) {
			t.Errorf("rank %v", s.rank)
		}
		if c, err := decodeVeto(value); err == nil && len(c) > len(b) {
			t.Error("more chunks than bytes")
		}
	})
}

// Open deletes and reports unreadable records. Vetoes still apply, and records of a later
// version are left alone.
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
	set(key(contentByte, hash, whole), sealedAs(contentVersion+1, []byte{0}))
	if _, err := Open(db, options); fault.KindOf(err) != fault.Unsupported {
		t.Error(err)
	}
}
