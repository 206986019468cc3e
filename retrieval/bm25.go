package retrieval

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	index "github.com/blevesearch/bleve_index_api"

	"github.com/percached/percached"
)

// BM25 by the formula, over bleve's postings. bleve's own scorer, set to "bm25",
// departs from it: it takes the number of different terms for the length of a text and
// the root of a term's count for the count, squares the inverse document frequency when
// a question has several terms, and counts deleted chunks until they are merged away.
//
// The sum is multiplied by the share of the question that a chunk covers, weighted by
// inverse document frequency: a chunk that has one name of the question many times
// should not beat one that has both.
const (
	bm25K = 1.2
	bm25B = 0.75

	headBoost  = 0.5 // weight of a term in the head; in the body it is 1
	formWeight = 0.5 // weight of stems and other forms; of the words themselves it is 1
	stopWeight = 0.3 // weight of words that questions are made of

	maxQuestion = 4 << 10 // bytes of a question that are read
	maxTerms    = 128     // different terms of a question
)

// questionTerm is a term of a question.
type questionTerm struct {
	term   string
	weight float64
}

// question returns the different terms of a question with their weights.
func question(s string) []questionTerm {
	if len(s) > maxQuestion {
		s = strings.ToValidUTF8(s[:maxQuestion], "")
	}
	var terms []questionTerm
	at := map[string]int{}
	singles := 0 // single characters count only if there is nothing else
	add := func(t string, w float64) {
		if i, ok := at[t]; ok {
			terms[i].weight = max(terms[i].weight, w)
		} else if len(terms) < maxTerms {
			at[t] = len(terms)
			terms = append(terms, questionTerm{t, w})
		}
	}
	eachTerm(s, func(t string, k kind) {
		w := 1.0
		switch k {
		case lone:
			singles++
			return
		case form:
			w = formWeight
		}
		if stopWord(t) {
			w *= stopWeight
		}
		add(t, w)
	})
	if len(terms) == 0 && singles > 0 {
		eachTerm(s, func(t string, _ kind) { add(t, 1) })
	}
	return terms
}

// measures are the counts over all chunks that BM25 needs.
type measures struct {
	chunks     float64
	head, body float64 // mean length
	room       int     // numbers that bleve has assigned to chunks
}

// scores collects the scores of chunks by the numbers that bleve gives them.
type scores struct {
	sum, found []float64
	last       []int32 // the last term counted in found, from 1
	hits       []uint32
}

func (s *scores) clear(room int) {
	for _, d := range s.hits {
		s.sum[d], s.found[d], s.last[d] = 0, 0, 0
	}
	s.hits = s.hits[:0]
	if len(s.sum) < room {
		s.sum, s.found, s.last = make([]float64, room), make([]float64, room), make([]int32, room)
	}
}

// match is a chunk that holds words of a question.
type match struct {
	id    percached.ChunkID
	score float64
}

// search returns the n best chunks for a question and those that tie with the last one,
// best first. It also returns the scores of these chunks and of those in also.
func (t *text) search(ctx context.Context, r index.IndexReader, q string, n int, also []percached.ChunkID) (best []match, others map[percached.ChunkID]float64, err error) {
	m, err := t.measures(ctx, r)
	if err != nil || m.chunks == 0 {
		return nil, nil, err
	}
	s, _ := t.scratch.Get().(*scores)
	if s == nil {
		s = &scores{}
	}
	defer t.scratch.Put(s)
	s.clear(m.room)
	total := 0.0
	for i, a := range question(q) {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		idf, err := s.term(ctx, r, m, a, int32(i+1))
		if err != nil {
			return nil, nil, err
		}
		total += a.weight * idf
	}
	if total == 0 {
		return nil, nil, nil
	}
	for _, d := range s.hits {
		s.sum[d] *= s.found[d] / total
	}
	if best, err = s.best(r, n); err != nil {
		return nil, nil, err
	}
	others = make(map[percached.ChunkID]float64, len(also))
	for _, m := range best {
		others[m.id] = m.score
	}
	for _, id := range also {
		if _, known := others[id]; known {
			continue
		}
		doc, err := r.InternalID(string(id[:]))
		if err != nil {
			return nil, nil, err
		}
		if doc != nil {
			others[id] = s.sum[doc.Value()]
		}
	}
	return best, others, nil
}

// term adds a term's score to every chunk that holds the term. It returns the term's
// weight in the share of the question that a chunk covers.
func (s *scores) term(ctx context.Context, r index.IndexReader, m measures, a questionTerm, number int32) (float64, error) {
	readers := [2]index.TermFieldReader{}
	var idf [2]float64
	for f, field := range [...]string{fieldBody, fieldHead} {
		tr, err := r.TermFieldReader(ctx, []byte(a.term), field, true, true, false)
		if err != nil {
			return 0, err
		}
		defer tr.Close()
		readers[f] = tr
		if df := float64(tr.Count()); df > 0 {
			idf[f] = math.Log(1 + (m.chunks-df+0.5)/(df+0.5))
		}
	}
	share := max(idf[0], idf[1])
	if share == 0 {
		return 0, nil
	}
	var doc index.TermFieldDoc
	for f, tr := range readers {
		boost, mean := 1.0, m.body
		if f == 1 {
			boost, mean = headBoost, m.head
		}
		factor := a.weight * boost * idf[f] * (bm25K + 1)
		for idf[f] > 0 {
			p, err := tr.Next(&doc)
			if err != nil {
				return 0, err
			}
			if p == nil {
				break
			}
			d := p.ID.Value()
			tf := float64(p.Freq)
			if s.last[d] == 0 {
				s.hits = append(s.hits, uint32(d))
			}
			if s.last[d] != number {
				s.last[d] = number
				s.found[d] += a.weight * share
			}
			s.sum[d] += factor * tf / (tf + bm25K*(1-bm25B+bm25B*length(p.Norm)/mean))
		}
	}
	return share, nil
}

// length is the number of terms in a field, from the norm that bleve stores.
func length(norm float64) float64 { return math.Round(1/(norm*norm)) - 1 }

// best picks the n best. Bleve numbers chunks in the order in which they came, so ties
// are broken by id. It reads the ids of tied chunks only.
func (s *scores) best(r index.IndexReader, n int) ([]match, error) {
	hits := s.hits
	if len(hits) > n {
		least := s.least(n)
		hits = nil
		for _, d := range s.hits {
			if s.sum[d] >= least && len(hits) < n+maxCandidates {
				hits = append(hits, d)
			}
		}
	}
	out := make([]match, 0, len(hits))
	var doc index.IndexInternalID
	for _, d := range hits {
		doc = index.NewIndexInternalID(doc, uint64(d))
		id, err := r.ExternalID(doc)
		if err != nil {
			return nil, err
		}
		m := match{score: s.sum[d]}
		if copy(m.id[:], id) != len(m.id) {
			return nil, errDamaged
		}
		out = append(out, m)
	}
	slices.SortFunc(out, byScore)
	return out[:min(n, len(out))], nil
}

// least is the n-th best score.
func (s *scores) least(n int) float64 {
	h := make([]float64, 0, n) // a heap, the least on top
	for _, d := range s.hits {
		x := s.sum[d]
		if len(h) < n {
			h = append(h, x)
			for i := len(h) - 1; i > 0 && h[(i-1)/2] > h[i]; i = (i - 1) / 2 {
				h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
			}
			continue
		}
		if x <= h[0] {
			continue
		}
		h[0] = x
		for i := 0; ; {
			c := 2*i + 1
			if c+1 < n && h[c+1] < h[c] {
				c++
			}
			if c >= n || h[i] <= h[c] {
				break
			}
			h[i], h[c] = h[c], h[i]
			i = c
		}
	}
	return h[0]
}

func byScore(a, b match) int {
	return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(string(a.id[:]), string(b.id[:])))
}

// measures counts again when the index has changed: deleted chunks must not count,
// however long bleve keeps them on disk.
func (t *text) measures(ctx context.Context, r index.IndexReader) (measures, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of == r {
		return t.measure, nil
	}
	var m measures
	for _, field := range []string{fieldHead, fieldBody} {
		n, sum, top, err := lengths(ctx, r, field)
		if err != nil {
			return m, err
		}
		m.chunks, m.room = n, top
		mean := max(sum/max(n, 1), 1)
		if field == fieldHead {
			m.head = mean
		} else {
			m.body = mean
		}
	}
	t.of, t.measure = r, m
	return m, nil
}

func lengths(ctx context.Context, r index.IndexReader, field string) (n, sum float64, top int, err error) {
	tr, err := r.TermFieldReader(ctx, []byte(always), field, true, true, false)
	if err != nil {
		return 0, 0, 0, err
	}
	defer tr.Close()
	var doc index.TermFieldDoc
	for {
		p, err := tr.Next(&doc)
		if err != nil || p == nil {
			return n, sum, top, err
		}
		n++
		sum += length(p.Norm)
		top = int(p.ID.Value()) + 1
	}
}
