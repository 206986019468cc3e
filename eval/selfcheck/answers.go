package selfcheck

import (
	"fmt"
	"strings"

	"github.com/percached/percached/api/client"
)

// course: each question came as it must, and the report has counted that.
func (c *checker) course(w want, s *system) {
	got := ""
	var chunks, reported client.Reuse
	for i := range s.Answers {
		a := &s.Answers[i]
		got += string(letter(a.Outcome))
		chunks.All, chunks.Stored = chunks.All+a.Reuse.All, chunks.Stored+a.Reuse.Stored
		reported.All, reported.Stored = reported.All+s.questions[i].Chunks.All, reported.Stored+s.questions[i].Chunks.Stored
	}
	c.same(s.Name+": how each question came (miss, tensors, answer)", w.came, got)
	n := func(r rune) int { return strings.Count(w.came, string(r)) }
	o := s.report.All.Outcomes
	c.same(s.Name+": misses, tensor hits, answer hits", fmt.Sprint(n(miss), n(tensor), n(hit)), fmt.Sprint(o.Misses, o.TensorHits, o.AnswerHits))
	// A prompt has two chunks, and they are stored both or none.
	counts := func(r client.Reuse) string { return fmt.Sprint(r.All, r.Stored) }
	must := counts(client.Reuse{All: k * (n(miss) + n(tensor)), Stored: k * n(tensor)})
	c.same(s.Name+": chunks of prompts, stored ones", must, counts(chunks))
	c.same(s.Name+": the same as reported, by question and in all", must+", "+must, counts(reported)+", "+counts(s.report.All.Chunks))
	c.same(s.Name+": slices, entries in the end", fmt.Sprint(w.slices, w.entries), fmt.Sprint(s.Slices, s.Entries))
}

// texts: each answer is word for word the uncached one, to the question of which it
// was made.
func (c *checker) texts(w want, s *system) {
	if s.Reference == s.Name || s.Poisoned {
		return
	}
	cold, other := c.systems[s.Reference], []string(nil)
	for i := range s.Answers {
		from := i
		if w.from != "" {
			from = int(w.from[i] - '1')
		} else if s.Answers[i].Outcome == client.OutcomeAnswerHit {
			continue // perhaps of a predicted question
		}
		if s.Answers[i].Text != cold.Answers[from].Text {
			other = append(other, fmt.Sprint(i+1))
		}
	}
	c.none(s.Name+": answers that are not the uncached ones", other)
	differ, compared := -1, 0
	if s.report.All.Check != nil {
		differ, compared = s.report.All.Check.Differ, s.report.All.Check.Compared
	}
	o := s.report.All.Outcomes
	c.same(s.Name+": computed answers held against the uncached ones, that differ", fmt.Sprint(o.Misses+o.TensorHits, 0), fmt.Sprint(compared, differ))
	if w.idle { // 3 has the words of 1, so whatever answered 1 is there
		c.same(s.Name+": how the same words came again", client.OutcomeAnswerHit, s.at(3).Outcome)
	}
}

// idle: only who predicts works while nobody asks, and percached no more than the
// paper's system: but for the last piece of work, which is not cut.
func (c *checker) idle(w want, s *system) {
	got := s.report.All.Idle.Tokens
	if !w.idle {
		c.same(s.Name+": tokens of idle work", 0, got)
		return
	}
	const piece = 2048 // the model's context
	most := c.systems["percache"].report.All.Idle.Tokens + piece
	c.find(s.Name+": tokens of idle work", fmt.Sprintf("1 to %.0f", most), got, got >= 1 && got <= most)
}

// right says whether a text is the gold answer: these are short enough for it.
func right(text, gold string) bool {
	return strings.EqualFold(strings.TrimSuffix(text, "."), gold)
}

// quality: how many answers are right follows from the uncached ones; so does which
// served one is wrong. The file with the answer is always the best for its question.
func (c *checker) quality(w want, s *system) {
	n := len(questions())
	if s.report.All.Quality == nil || s.report.All.Recall == nil {
		c.find(s.Name+": quality and recall", "known", "not known", false)
		return
	}
	if w.wrong >= 0 && s.Reference != s.Name {
		wrong := 0
		if s.report.All.Bank.Wrong != nil {
			wrong = s.report.All.Bank.Wrong.Count
		}
		c.same(s.Name+": wrong answers served", w.wrong, wrong)
	}
	if w.from == "" {
		return
	}
	exact, cold := 0, c.systems[s.Reference]
	for i, q := range questions() {
		if right(cold.Answers[w.from[i]-'1'].Text, q.gold) {
			exact++
		}
	}
	c.same(s.Name+": exact match", share(exact, n), fmt.Sprintf("%.4f", s.report.All.Quality.Exact.Mean))
	c.same(s.Name+": retrieval recall", share(n, n), fmt.Sprintf("%.4f", s.report.All.Recall.Share))
}

func share(k, n int) string { return fmt.Sprintf("%.4f", float64(k)/float64(n)) }

// control: the system whose bank was filled with wrong answers gives them all, and
// each measure of quality says so; without caches most answers are right. Its answers
// rest on chunks of other files.
func (c *checker) control() {
	naive, poisoned := c.systems["naive"], c.systems["poisoned"]
	if naive.report.All.Quality == nil || poisoned.report.All.Quality == nil || poisoned.report.All.Recall == nil {
		return // that was found already
	}
	q, p := naive.report.All.Quality, poisoned.report.All.Quality
	const easy = 7 // of nine: so many even the model that is built in gets right
	least := float64(easy) / float64(len(questions()))
	for _, m := range []struct {
		what string
		got  float64
	}{{"exact match", q.Exact.Mean}, {"token F1", q.F1.Mean}} {
		c.find("naive: most answers are right by "+m.what, "at least "+share(easy, len(questions())), fmt.Sprintf("%.4f", m.got), m.got >= least)
	}
	c.same("poisoned: exact match, token F1, ROUGE-L", "0.0000 0.0000 0.0000", fmt.Sprintf("%.4f %.4f %.4f", p.Exact.Mean, p.F1.Mean, p.RougeL.Mean))
	c.same("poisoned: retrieval recall", share(0, len(questions())), fmt.Sprintf("%.4f", poisoned.report.All.Recall.Share))
}
