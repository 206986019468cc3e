package predictor_test

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/predictor"
)

// naive is the predictor written without regard to speed or disks.
type naive struct {
	parts       map[percached.ChunkID]*naivePart
	predictions map[string]*predictor.Prediction // by question
	dropped     map[predictor.Drop]uint64
}

type naivePart struct {
	version uint64
	text    string
	date    time.Time
	number  int
	used    bool
}

func newNaive() *naive {
	return &naive{map[percached.ChunkID]*naivePart{}, map[string]*predictor.Prediction{}, map[predictor.Drop]uint64{}}
}

// pick returns the chunks and texts of the next prompt.
func (m *naive) pick(s *spaceOf) (ids []percached.ChunkID, texts []string) {
	var all []percached.ChunkID
	for id, p := range m.parts {
		c, there := s.chunks[id]
		switch {
		case p.used || p.text == "":
		case !there || c.Version != p.version:
			delete(m.parts, id)
		default:
			all = append(all, id)
		}
	}
	slices.SortFunc(all, func(a, b percached.ChunkID) int {
		x, y := m.parts[a], m.parts[b]
		return cmp.Or(y.date.Compare(x.date), cmp.Compare(x.number, y.number))
	})
	words := 0
	for _, id := range all {
		text := strings.TrimRight(m.parts[id].text, ". ")
		if words += len(strings.Fields(text)); words > 120 && len(ids) > 0 {
			break
		}
		ids, texts = append(ids, id), append(texts, text)
	}
	return ids, texts
}

// round does what a round does with its list.
func (m *naive) round(list []string, stride int, from predictor.From, chunks []percached.ChunkID, now time.Time) {
	for i, about := range list {
		q := fmt.Sprintf("What of %s?", about)
		switch {
		case i >= stride:
			m.dropped[predictor.Surplus]++
		case m.predictions[q] != nil:
			m.dropped[predictor.Known]++
		default:
			m.predictions[q] = &predictor.Prediction{ID: predictor.NewID("mail", q), Question: q, From: from, Chunks: chunks, Made: now}
		}
	}
}

func (m *naive) forget(gone []percached.ChunkID) (parts, predictions int) {
	for _, c := range gone {
		if m.parts[c] != nil {
			delete(m.parts, c)
			parts++
		}
	}
	before := len(m.predictions)
	maps.DeleteFunc(m.predictions, func(_ string, p *predictor.Prediction) bool {
		return slices.ContainsFunc(gone, func(c percached.ChunkID) bool { return slices.Contains(p.Chunks, c) })
	})
	return parts, before - len(m.predictions)
}

// After any sequence of operations the predictor equals the naive one, also after it was
// reopened, and except for hits after a crash.
func TestModel(t *testing.T) {
	seeds, steps := 12, 150
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(seed), 5))
			w, m := start(t), newNaive()
			for step := range steps {
				w.now = w.now.Add(time.Minute)
				what := play(w, m, r)
				if d := same(w, m); d != "" {
					t.Fatalf("step %d, %s (-want +got):\n%s", step, what, d)
				}
			}
		})
	}
}

func play(w *world, m *naive, r *rand.Rand) string {
	s := w.lib.spaces["mail"]
	titles := slices.Sorted(func(yield func(string) bool) {
		for _, d := range s.documents {
			if !yield(d.Title) {
				return
			}
		}
	})
	any := func() string { return titles[r.IntN(len(titles))] }
	switch n := r.IntN(20); {
	case n < 5 || len(titles) == 0:
		var bodies []string
		title := fmt.Sprint("Mail", r.IntN(40))
		if slices.Contains(titles, title) {
			return "nothing"
		}
		for i := range 1 + r.IntN(3) {
			bodies = append(bodies, fmt.Sprintf("Piece %d of %s %s.", i, title, numbered("on", r.IntN(16))))
		}
		days := 0 // every document has another day
		fmt.Sscanf(title, "Mail%d", &days)
		w.lib.add("mail", title, time.Date(2025, 1, 1+days, 0, 0, 0, 0, time.UTC), w.now, bodies...)
		return "add"
	case n < 7:
		gone := w.lib.drop("mail", any())
		if r.IntN(4) == 0 {
			return "drop without telling"
		}
		parts, predictions := m.forget(gone)
		p, q, err := w.Forget("mail", gone)
		w.must(err)
		if p != parts || q != predictions {
			w.t.Errorf("forgot %d and %d, want %d and %d", p, q, parts, predictions)
		}
		return "forget"
	case n < 11:
		ids, _, err := w.Unsummarised(w.t.Context(), "mail", 1+r.IntN(5))
		w.must(err)
		for _, id := range ids {
			_, err := w.Summarise(w.t.Context(), "mail", id)
			w.must(err)
			c := s.chunks[id]
			d := s.documents[c.Documents[0]]
			m.parts[id] = &naivePart{
				version: c.Version, text: d.Title + ": " + c.Body, date: d.Date, number: slices.Index(d.Chunks, id),
			}
		}
		return "summarise"
	case n < 14:
		stride := 1 + r.IntN(6)
		ids, texts := m.pick(s)
		got := w.predict(stride)
		if got.Sources != len(ids) {
			w.t.Errorf("%d parts, want %d", got.Sources, len(ids))
		}
		m.round(texts, stride, predictor.Knowledge, ids, w.now)
		for _, id := range ids {
			m.parts[id].used = true
		}
		return "from knowledge"
	case n < 16:
		title := any()
		d := s.documents[percached.NewDocumentID(title)]
		asked := []predictor.Asked{{Question: title + "?", Chunks: d.Chunks}, {Question: "Gone?", Chunks: []percached.ChunkID{{1}}}}
		_, err := w.fromHistory(w.t.Context(), "mail", asked, 2)
		w.must(err)
		m.round([]string{"more: " + title}, 2, predictor.History, d.Chunks, w.now)
		return "from history"
	case n < 17:
		for _, p := range m.predictions {
			if r.IntN(3) == 0 {
				w.must(w.Populated("mail", p.ID))
				p.Populated = true
			}
			if r.IntN(3) == 0 {
				w.Hit("mail", p.ID)
				p.Hits, p.LastHit = p.Hits+1, w.now
			}
		}
		w.must(w.Flush())
		return "use"
	case n < 18 && r.IntN(4) == 0:
		n, err := w.ForgetHistory("mail")
		w.must(err)
		before := len(m.predictions)
		maps.DeleteFunc(m.predictions, func(_ string, p *predictor.Prediction) bool { return p.From == predictor.History })
		if n != before-len(m.predictions) {
			w.t.Errorf("forgot %d of the history", n)
		}
		return "forget history"
	case n < 18 && r.IntN(6) == 0:
		_, _, err := w.DropSpace("mail")
		w.must(err)
		*m = *newNaive()
		return "drop space"
	}
	w.reopen(r.IntN(2) == 0)
	return "reopen"
}

func same(w *world, m *naive) string {
	got, err := w.Predictions("mail")
	w.must(err)
	for i := range got {
		got[i].Asked = nil
	}
	want := []predictor.Prediction{}
	for _, p := range m.predictions {
		want = append(want, *p)
	}
	slices.SortFunc(want, func(a, b predictor.Prediction) int {
		return cmp.Or(b.Made.Compare(a.Made), slices.Compare(a.ID[:], b.ID[:]))
	})
	if d := gocmp.Diff(want, got); d != "" {
		return d
	}
	stats := predictor.Stats{Parts: len(m.parts), Predictions: len(m.predictions), Dropped: m.dropped}
	cited := map[percached.ChunkID]bool{}
	for id, p := range m.parts {
		cited[id] = true
		stats.Bytes += int64(len(p.text))
		if !p.used {
			stats.Waiting++
		}
	}
	for _, p := range m.predictions {
		if p.From == predictor.History {
			stats.FromHistory++
		}
		if p.Populated {
			stats.Populated++
		}
		if p.Hits > 0 {
			stats.Hit++
		}
		for _, c := range p.Chunks {
			cited[c] = true
		}
	}
	all, err := w.Cited("mail")
	w.must(err)
	for _, c := range all {
		if !cited[c] {
			return fmt.Sprintf("cites %v", c)
		}
	}
	if len(all) != len(cited) {
		return fmt.Sprintf("cites %d chunks, want %d", len(all), len(cited))
	}
	return gocmp.Diff(stats, w.stats())
}
