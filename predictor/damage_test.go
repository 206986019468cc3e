package predictor_test

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"testing"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/predictor"
)

var errUnreadable = fault.New(fault.Internal, "library", "a record is damaged")

// each calls fn with the key of every record of a kind.
func (w *world) each(kind string, fn func(k, v []byte) []byte) {
	w.t.Helper()
	all := w.records()
	w.must(w.db.Update(func(tx *kv.Tx) error {
		for k, v := range all {
			if k[1:2] != kind {
				continue
			}
			if now := fn([]byte(k), []byte(v)); now != nil {
				w.must(tx.Set([]byte(k), now))
			} else {
				w.must(tx.Delete([]byte(k)))
			}
		}
		return nil
	}))
}

func flip(_, v []byte) []byte { v[len(v)/2] ^= 1; return v }
func lose(_, _ []byte) []byte { return nil }

func populated(t *testing.T) *world {
	w := start(t)
	w.add("Rent", 1, "The rent rises.")
	w.summarise()
	p := w.predict(1).New[0]
	w.must(w.Populated("mail", p.ID))
	if _, err := w.fromHistory(t.Context(), "mail", []predictor.Asked{{Question: "When?"}, {Question: "Why not?"}}, 1); err != nil {
		t.Fatal(err)
	}
	return w
}

// Open deletes and reports unreadable records; the rest stays.
func TestOpenDamaged(t *testing.T) {
	whole := predictor.Stats{Parts: 1, Predictions: 2, FromHistory: 1, Populated: 1, Dropped: map[predictor.Drop]uint64{predictor.Surplus: 1}}
	for name, tt := range map[string]struct {
		kind   string
		change func(k, v []byte) []byte
		told   int
		want   func(s *predictor.Stats)
	}{
		"part":              {"a", flip, 1, func(s *predictor.Stats) { s.Parts = 0 }},
		"part cut":          {"a", func(_, v []byte) []byte { return v[:3] }, 1, func(s *predictor.Stats) { s.Parts = 0 }},
		"predictions":       {"q", flip, 2, func(s *predictor.Stats) { s.Predictions, s.FromHistory, s.Populated = 0, 0, 0 }},
		"states":            {"h", flip, 2, func(s *predictor.Stats) { s.Populated = 0 }},
		"states lost":       {"h", lose, 0, func(s *predictor.Stats) { s.Populated = 0 }},
		"predictions lost":  {"q", lose, 0, func(s *predictor.Stats) { s.Predictions, s.FromHistory, s.Populated = 0, 0, 0 }},
		"counts":            {"d", flip, 1, func(s *predictor.Stats) { s.Dropped = map[predictor.Drop]uint64{} }},
		"nothing":           {"x", flip, 0, func(*predictor.Stats) {}},
		"predictions empty": {"q", func(_, _ []byte) []byte { return []byte{} }, 2, func(s *predictor.Stats) { s.Predictions, s.FromHistory, s.Populated = 0, 0, 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			w := populated(t)
			w.each(tt.kind, tt.change)
			want := whole
			tt.want(&want)
			for range 2 {
				w.reopen(false)
				got := w.stats()
				got.Bytes = 0
				if len(got.Dropped) != len(want.Dropped) {
					t.Errorf("dropped %v", got.Dropped)
				}
				got.Dropped = want.Dropped
				if gotText, wantText := sprint(got), sprint(want); gotText != wantText {
					t.Errorf("%s, want %s", gotText, wantText)
				}
			}
			if len(w.told) != tt.told {
				t.Errorf("told of %d: %v", len(w.told), w.told)
			}
		})
	}
}

// A record under another's key is damaged.
func TestSwappedRecords(t *testing.T) {
	w := populated(t)
	var last []byte
	w.each("q", func(_, v []byte) []byte {
		v, last = last, v
		if v == nil {
			return last
		}
		return v
	})
	w.reopen(false)
	if s := w.stats(); s.Predictions != 1 || len(w.told) != 1 {
		t.Errorf("%+v, told of %d", s, len(w.told))
	}
}

// A record damaged later is found when it is read.
func TestDamagedLater(t *testing.T) {
	for name, change := range map[string]func(k, v []byte) []byte{"flipped": flip, "lost": lose} {
		t.Run(name, func(t *testing.T) {
			w := populated(t)
			w.add("Dinner", 2, "Dinner is on Friday.")
			w.summarise()
			w.each("q", change)
			w.each("a", change)
			if q := w.questions(); len(q) != 0 || w.stats().Predictions != 0 {
				t.Errorf("%q", q)
			}
			if r := w.predict(3); r.Sources != 0 {
				t.Errorf("%+v", r)
			}
			w.reopen(false)
			w.summarise()
			if r := w.predict(3); r.Sources != 2 {
				t.Errorf("made anew: %+v", r)
			}
		})
	}
}

// Records of a later version are left alone.
func TestLaterVersion(t *testing.T) {
	for _, kind := range []string{"a", "q", "h", "d"} {
		w := populated(t)
		w.each(kind, func(k, v []byte) []byte {
			v[0]++
			table := crc32.MakeTable(crc32.Castagnoli)
			sum := crc32.Update(crc32.Checksum(k, table), table, v[:len(v)-4])
			return binary.LittleEndian.AppendUint32(v[:len(v)-4], sum)
		})
		before := w.records()
		if _, err := predictor.Open(w.o); fault.KindOf(err) != fault.Unsupported {
			t.Errorf("%s: %v", kind, err)
		}
		if len(w.records()) != len(before) {
			t.Errorf("%s: records were removed", kind)
		}
	}
}

func sprint(s predictor.Stats) string {
	b, _ := json.Marshal(s) // plain values always marshal
	return string(b)
}
