package knowledgebank

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/percached/percached"
)

func TestSeal(t *testing.T) {
	key := []byte("Kkey")
	v := seal(key, []byte("payload"))
	if got, err := unseal(key, v); err != nil || string(got) != "payload" {
		t.Error(got, err)
	}
	for i := range v {
		v[i] ^= 1
		if _, err := unseal(key, v); err != ErrDamaged {
			t.Error(i, err)
		}
		v[i] ^= 1
	}
	for n := range v {
		if _, err := unseal(key, v[:n]); err != ErrDamaged {
			t.Error(n, err)
		}
	}
	if _, err := unseal([]byte("Kother"), v); err != ErrDamaged {
		t.Error(err)
	}
}

func TestTimes(t *testing.T) {
	for _, want := range []time.Time{
		{},
		time.Unix(0, 0).UTC(), clock(), time.Date(1999, 12, 31, 23, 59, 59, 999, time.FixedZone("", -8*3600)),
		time.Date(-3, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(9999, 1, 1, 0, 0, 0, 0, time.FixedZone("", 14*3600)),
	} {
		r := reader{b: appendTime(nil, want)}
		got := r.time()
		if r.bad || !got.Equal(want) || got.String() != want.String() {
			t.Error(want, got)
		}
	}
}

// again checks that anything a decoder accepts stays the same when written and read
// again.
func again[T any](t *testing.T, decode func([]byte) (T, error), encode func(T) []byte, payload []byte) {
	was, err := decode(payload)
	if err != nil {
		return
	}
	now, err := decode(encode(was))
	if d := cmp.Diff(was, now, cmpopts.IgnoreUnexported(spaceRecord{})); err != nil || d != "" {
		t.Error(err, d)
	}
}

func FuzzSpaceRecord(f *testing.F) {
	f.Add((&spaceRecord{}).encode())
	f.Add((&spaceRecord{Live: true, Seq: 9, Trimmed: 3, Documents: 1, Chunks: 2, Words: 300, Space: percached.Space{Name: "a", Kind: "notes"}}).encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		again(t, decodeSpace, (*spaceRecord).encode, b)
	})
}

func FuzzDocumentRecord(f *testing.F) {
	f.Add(encodeDocument(&percached.Document{}))
	f.Add(encodeDocument(&percached.Document{Key: "k", Title: "t", Date: clock(), Added: clock(), Words: 5, Chunks: make([]percached.ChunkID, 3)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		was, err := decodeDocument(percached.DocumentID{1}, b)
		if err != nil || was.Count > len(was.Chunks) { // the others are in pages
			return
		}
		now, err := decodeDocument(was.ID, encodeDocument(&was.Document))
		if d := cmp.Diff(was, now, cmpopts.IgnoreUnexported(spaceRecord{})); err != nil || d != "" {
			t.Error(err, d)
		}
	})
}

func FuzzChunkRecord(f *testing.F) {
	f.Add(encodeChunk(&percached.Chunk{}))
	f.Add(encodeChunk(&percached.Chunk{Version: 7, Head: "### h", Body: "b", Documents: make([]percached.DocumentID, 2)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		again(t, func(b []byte) (*percached.Chunk, error) { return decodeChunk(percached.ChunkID{1}, b) }, encodeChunk, b)
	})
}

func FuzzPageRecord(f *testing.F) {
	f.Add(make([]byte, 32), 2)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		ids, err := decodePage(b, n)
		if err == nil && len(ids) != n {
			t.Error(len(ids), n)
		}
	})
}

func FuzzJournalRow(f *testing.F) {
	id := newSpaceID("home")
	f.Add(appendWrite(appendWrite(nil, write{key: id.key(spaceType), value: []byte("v")}), write{key: id.key(markType)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		again(t, func(b []byte) ([][2][]byte, error) {
			writes, err := decodeJournal(id, b)
			var out [][2][]byte
			for _, w := range writes {
				out = append(out, [2][]byte{w.key, w.value})
			}
			return out, err
		}, func(writes [][2][]byte) (b []byte) {
			for _, w := range writes {
				b = appendWrite(b, write{w[0], w[1]})
			}
			return b
		}, b)
	})
}

func FuzzSource(f *testing.F) {
	f.Add("A title", "note", "Ana", "00:01:02", "Some text. More text.\n- a point", true)
	f.Add("", "", "", "", "会議は来週です。", false)
	db := openDB(f, f.TempDir())
	b := openBank(f, db)
	create(f, b, "home")
	f.Fuzz(func(t *testing.T, title, source, speaker, at, text string, transcript bool) {
		s := &Source{Key: "k", Title: title, Source: source, Blocks: []Block{{Speaker: speaker, At: at, Text: text}, {Text: text}}}
		if transcript {
			s.Format = "transcript"
		}
		add(t, b, "home", s)
		if c, err := b.Add(context.Background(), "home", s); err != nil || c.State != Unchanged {
			t.Error(c.State, err)
		}
		verify(t, b, "home")
	})
}
