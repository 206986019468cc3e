package selfcheck

import (
	"fmt"
	"math"
	"strings"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
)

// outcomes: each question has the expected outcome, and the report counts it.
func (c *checker) outcomes(w want, s *system) {
	got, verified := "", map[rune]int{}
	var chunks, reported client.Reuse
	for i := range s.Answers {
		a := &s.Answers[i]
		got += string(letter(a))
		if a.Outcome == client.OutcomeVerifiedHit {
			verified[letter(a)]++
		}
		chunks.All, chunks.Stored = chunks.All+a.Reuse.All, chunks.Stored+a.Reuse.Stored
		reported.All, reported.Stored = reported.All+s.questions[i].Chunks.All, reported.Stored+s.questions[i].Chunks.Stored
	}
	c.equal(s.Name+": how each question came (miss, tensors, answer)", w.came, got)
	n := func(r rune) int { return strings.Count(w.came, string(r)) }
	o := s.report.All.Outcomes
	c.equal(s.Name+": misses, tensor hits, answer hits", fmt.Sprint(n(miss), n(tensor), n(hit)), fmt.Sprint(o.Misses+verified[miss], o.TensorHits+verified[tensor], o.AnswerHits))
	c.equal(s.Name+": verified hits, as reported", verified[miss]+verified[tensor], o.VerifiedHits)
	// A prompt has two chunks. Both are stored, or neither.
	counts := func(r client.Reuse) string { return fmt.Sprint(r.All, r.Stored) }
	must := counts(client.Reuse{All: k * (n(miss) + n(tensor)), Stored: k * n(tensor)})
	c.equal(s.Name+": chunks of prompts, stored ones", must, counts(chunks))
	c.equal(s.Name+": the same as reported, by question and in all", must+", "+must, counts(reported)+", "+counts(s.report.All.Chunks))
	c.equal(s.Name+": slices, entries in the end", fmt.Sprint(w.slices, w.entries), fmt.Sprint(s.Slices, s.Entries))
}

// texts: each answer is exactly the uncached answer to the question that it was made for.
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
	c.empty(s.Name+": answers that are not the uncached ones", other)
	differ, compared := -1, 0
	if s.report.All.Check != nil {
		differ, compared = s.report.All.Check.Differ, s.report.All.Check.Compared
	}
	o := s.report.All.Outcomes
	c.equal(s.Name+": computed answers held against the uncached ones, that differ", fmt.Sprint(o.Misses+o.TensorHits+o.VerifiedHits, 0), fmt.Sprint(compared, differ))
	if w.idle { // 3 has the words of 1, so its answer is stored
		c.equal(s.Name+": how the same words came again", client.OutcomeAnswerHit, s.at(3).Outcome)
	}
}

// idle: only systems that predict do idle work. Percached does no more than PerCache,
// except for the last piece of work, which is not cut.
func (c *checker) idle(w want, s *system) {
	got := s.report.All.Idle.Tokens
	if !w.idle {
		c.equal(s.Name+": tokens of idle work", 0, got)
		return
	}
	const piece = 2048 // the model's context
	most := c.systems["percache"].report.All.Idle.Tokens + piece
	c.find(s.Name+": tokens of idle work", fmt.Sprintf("1 to %.0f", most), got, got >= 1 && got <= most)
}

// right says whether a text is the right answer. The answers are short enough for this.
func right(text, gold string) bool {
	return strings.EqualFold(strings.TrimSuffix(text, "."), gold)
}

// holds says whether a text contains the right answer.
func holds(text, gold string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(gold))
}

// quality: the uncached answers determine how many answers are right, and which served
// answer is wrong. The file with the answer is always the best match.
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
		c.equal(s.Name+": wrong answers served", w.wrong, wrong)
	}
	if w.from == "" {
		return
	}
	exact, contained, cold := 0, 0, c.systems[s.Reference]
	for i, q := range questions() {
		text := cold.Answers[w.from[i]-'1'].Text
		if right(text, q.gold) {
			exact++
		}
		if holds(text, q.gold) {
			contained++
		}
	}
	c.equal(s.Name+": exact match", share(exact, n), fmt.Sprintf("%.4f", s.report.All.Quality.Exact.Mean))
	c.equal(s.Name+": containment", share(contained, n), fmt.Sprintf("%.4f", s.report.All.Quality.Contains.Mean))
	c.equal(s.Name+": retrieval recall", share(n, n), fmt.Sprintf("%.4f", s.report.All.Recall.Share))
}

func share(k, n int) string { return fmt.Sprintf("%.4f", float64(k)/float64(n)) }

// control: the poisoned system serves all wrong answers, and each measure of quality shows
// it. Without caches most answers are right. The wrong answers rest on chunks of other
// files.
func (c *checker) control() {
	naive, poisoned := c.systems["naive"], c.systems["poisoned"]
	if naive.report.All.Quality == nil || poisoned.report.All.Quality == nil || poisoned.report.All.Recall == nil {
		return // reported already
	}
	q, p := naive.report.All.Quality, poisoned.report.All.Quality
	const easy = 7 // of nine: the built-in model answers at least these
	least := float64(easy) / float64(len(questions()))
	for _, m := range []struct {
		what string
		got  float64
	}{{"exact match", q.Exact.Mean}, {"containment", q.Contains.Mean}, {"token F1", q.F1.Mean}} {
		c.find("naive: most answers are right by "+m.what, "at least "+share(easy, len(questions())), fmt.Sprintf("%.4f", m.got), m.got >= least)
	}
	c.equal("poisoned: exact match, containment, token F1, ROUGE-L", "0.0000 0.0000 0.0000 0.0000",
		fmt.Sprintf("%.4f %.4f %.4f %.4f", p.Exact.Mean, p.Contains.Mean, p.F1.Mean, p.RougeL.Mean))
	c.equal("poisoned: retrieval recall", share(0, len(questions())), fmt.Sprintf("%.4f", poisoned.report.All.Recall.Share))
}

// prompts: a question has the same prompt in every system that computes it. The tokens
// that are not reused are computed. A stored answer has no prompt.
func (c *checker) prompts() {
	var other, uneven, full []string
	for _, w := range expectations() {
		s := c.systems[w.system]
		for i := range s.Answers {
			t, where := s.Answers[i].Tokens, fmt.Sprintf("%s %d", s.Name, i+1)
			if letter(&s.Answers[i]) == hit {
				if t.Prompt+t.Reused+t.Computed+t.Generated != 0 || t.Attended != 0 {
					full = append(full, where)
				}
				continue
			}
			if t.Prompt != c.systems["naive"].Answers[i].Tokens.Prompt {
				other = append(other, where)
			}
			if t.Reused+t.Computed != t.Prompt || t.Generated < 1 {
				uneven = append(uneven, where)
			}
		}
	}
	c.empty("prompts that are not the naive one's", other)
	c.empty("prompts of which reused and computed tokens are not the whole", uneven)
	c.empty("stored answers that took tokens", full)
}

// reuse: the reuse of one prompt determines that of others. A prompt is the instructions,
// two chunks, and the question, which is never stored.
func (c *checker) reuse() {
	rag, own := c.systems["ragcache"], c.systems[reactive]
	reused := func(s *system, number int) int { return s.at(number).Tokens.Reused }
	c.equal("naive: tokens reused", 0, c.systems["naive"].report.All.Tokens.Reused)
	c.equal("ragcache: tokens reused of the first prompt", 0, reused(rag, 1))
	instructions := reused(rag, 2) // all that 2 shares with 1
	c.find("ragcache: tokens of the instructions", "some", instructions, instructions > 0)
	for _, number := range []int{4, 7, 8} {
		c.equal(fmt.Sprintf("ragcache: tokens reused of %d, the instructions alone", number), instructions, reused(rag, number))
	}
	c.equal("ragcache: tokens reused of 5, as of 3", reused(rag, 3), reused(rag, 5))
	c.equal("ragcache: tokens of 3 that are not reused, as of 1", rag.at(1).Tokens.Prompt-reused(rag, 3), rag.at(3).Tokens.Computed)
	// With parallel placement the same two chunks are reused in any order.
	c.equal(reactive+": tokens reused of 4, as ragcache's of 3", reused(rag, 3), reused(own, 4))
	c.equal(reactive+": tokens reused of 6, as ragcache's of 6", reused(rag, 6), reused(own, 6))
	c.equal(reactive+": tokens reused of 7, as ragcache's of 6", reused(rag, 6), reused(own, 7))
	c.equal(reactive+": tokens reused of 9, as ragcache's of 9", reused(rag, 9), reused(own, 9))
	for _, w := range expectations() {
		s, sum := c.systems[w.system], 0
		for i := range s.Answers {
			sum += s.Answers[i].Tokens.Reused
		}
		c.equal(s.Name+": tokens reused, as reported", sum, s.report.All.Tokens.Reused)
	}
}

// attendedBy is how many tokens n tokens in a row attend to, each itself and all before
// it.
func attendedBy(n int) int64 { return int64(n) * int64(n+1) / 2 }

// length is the length of a prompt with its answer.
func length(a *eval.Answer) int { return a.Tokens.Prompt + a.Tokens.Generated }

// attended: how many tokens were attended to.
func (c *checker) attended() {
	naive, rag, side := c.systems["naive"], c.systems["ragcache"], c.systems["naive-parallel"]
	// Reused tokens are at the start and attend to nothing again.
	for _, s := range []*system{naive, rag} {
		var want, got []int64
		for i := range s.Answers {
			a := &s.Answers[i]
			want, got = append(want, attendedBy(length(a))-attendedBy(a.Tokens.Reused)), append(got, a.Tokens.Attended)
		}
		c.equal(s.Name+": tokens seen, question by question", want, got)
	}
	// With parallel placement, the tokens of one chunk do not attend to the other chunk.
	// That is the product of the chunks' lengths. The reuse of 3 gives the sum of the
	// lengths. So the product and the sum must be those of two whole numbers.
	a, b := naive.at(1).Tokens, side.at(1).Tokens
	sum := int64(rag.at(3).Tokens.Reused - rag.at(2).Tokens.Reused)
	product := a.Attended - b.Attended
	if a.Generated != b.Generated {
		product -= attendedBy(length(naive.at(1))) - attendedBy(length(side.at(1)))
	}
	root := int64(math.Round(math.Sqrt(float64(sum*sum - 4*product))))
	ok := product > 0 && sum*sum-4*product >= 0 && root*root == sum*sum-4*product && (sum+root)%2 == 0
	c.find("naive-parallel: tokens of 1 that do not see the other chunk", fmt.Sprintf("a product of two numbers whose sum is %d", sum), product, ok)
}

// flops: the floating-point operations in the report.
func (c *checker) flops() {
	for _, at := range []struct {
		system string
		number int
	}{{"naive", 1}, {"ragcache", 3}, {"meancache", 3}, {"naive-parallel", 1}} {
		s := c.systems[at.system]
		t, got := s.at(at.number).Tokens, -1.0
		if f := s.questions[at.number-1].FLOPs; f != nil {
			got = *f
		}
		want := perToken*int64(t.Computed+t.Generated) + perSeen*t.Attended + perGenerated*int64(t.Generated)
		c.equal(fmt.Sprintf("%s: floating-point operations of %d", at.system, at.number), want, int64(got))
	}
}

// storage: the stored tokens are those of the instructions and chunks, each slice once.
// The bytes around keys and values are at most a few per cent.
func (c *checker) storage() {
	rag := c.systems["ragcache"]
	first, second, last := rag.at(3).Tokens.Reused, rag.at(6).Tokens.Reused, rag.at(9).Tokens.Reused
	instructions := rag.at(2).Tokens.Reused
	pairs := first + second + last - 2*instructions // three pairs of chunks, and the instructions once
	for _, s := range []struct {
		name   string
		tokens int
	}{
		{"naive", 0},
		{"meancache", 0},
		{"ragcache", pairs + first + second - 2*instructions}, // two pairs in both orders
		{reactive, pairs},
		{"poisoned", 0},
	} {
		got, least := c.systems[s.name].report.All.Storage, float64(s.tokens*tokenBytes)
		most := least * 1.05
		bytes := func(n float64) string { return fmt.Sprintf("%.0f", n) }
		c.find(s.name+": bytes of tensors", bytes(least)+" to "+bytes(most), bytes(got.TensorBytes), got.TensorBytes >= least && got.TensorBytes <= most)
		c.equal(s.name+": bytes written, slices evicted", bytes(got.TensorBytes)+", 0", bytes(got.Written)+", "+bytes(got.Evicted))
	}
}
