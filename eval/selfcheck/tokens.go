package selfcheck

import (
	"fmt"
	"math"

	"github.com/percached/percached/eval"
)

// prompts: the same question has the same prompt in every system that computes it,
// and what is not reused of it is computed. A stored answer has no prompt.
func (c *checker) prompts() {
	var other, uneven, full []string
	for _, w := range wanted() {
		s := c.systems[w.system]
		for i := range s.Answers {
			t, where := s.Answers[i].Tokens, fmt.Sprintf("%s %d", s.Name, i+1)
			if letter(s.Answers[i].Outcome) == hit {
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
	c.none("prompts that are not the naive one's", other)
	c.none("prompts of which reused and computed tokens are not the whole", uneven)
	c.none("stored answers that took tokens", full)
}

// reuse: what is reused of one prompt says what must be of others. A prompt is the
// instructions, two chunks, and the question, of which nothing is stored.
func (c *checker) reuse() {
	rag, own := c.systems["ragcache"], c.systems[reactive]
	reused := func(s *system, number int) int { return s.at(number).Tokens.Reused }
	c.same("naive: tokens reused", 0, c.systems["naive"].report.All.Tokens.Reused)
	c.same("ragcache: tokens reused of the first prompt", 0, reused(rag, 1))
	instructions := reused(rag, 2) // all that 2 shares with 1
	c.find("ragcache: tokens of the instructions", "some", instructions, instructions > 0)
	for _, number := range []int{4, 7, 8} {
		c.same(fmt.Sprintf("ragcache: tokens reused of %d, the instructions alone", number), instructions, reused(rag, number))
	}
	c.same("ragcache: tokens reused of 5, as of 3", reused(rag, 3), reused(rag, 5))
	c.same("ragcache: tokens of 3 that are not reused, as of 1", rag.at(1).Tokens.Prompt-reused(rag, 3), rag.at(3).Tokens.Computed)
	// Side by side the same two chunks are reused in whatever order.
	c.same(reactive+": tokens reused of 4, as ragcache's of 3", reused(rag, 3), reused(own, 4))
	c.same(reactive+": tokens reused of 6, as ragcache's of 6", reused(rag, 6), reused(own, 6))
	c.same(reactive+": tokens reused of 7, as ragcache's of 6", reused(rag, 6), reused(own, 7))
	c.same(reactive+": tokens reused of 9, as ragcache's of 9", reused(rag, 9), reused(own, 9))
	for _, w := range wanted() {
		s, sum := c.systems[w.system], 0
		for i := range s.Answers {
			sum += s.Answers[i].Tokens.Reused
		}
		c.same(s.Name+": tokens reused, as reported", sum, s.report.All.Tokens.Reused)
	}
}

// to is how many tokens n in a row see, each itself and all before it.
func to(n int) int64 { return int64(n) * int64(n+1) / 2 }

// length is a prompt with its answer.
func length(a *eval.Answer) int { return a.Tokens.Prompt + a.Tokens.Generated }

// attended: what tokens saw of each other.
func (c *checker) attended() {
	naive, rag, side := c.systems["naive"], c.systems["ragcache"], c.systems["naive-parallel"]
	// Reused tokens stand at the head, and look at nothing any more.
	for _, s := range []*system{naive, rag} {
		var want, got []int64
		for i := range s.Answers {
			a := &s.Answers[i]
			want, got = append(want, to(length(a))-to(a.Tokens.Reused)), append(got, a.Tokens.Attended)
		}
		c.same(s.Name+": tokens seen, question by question", want, got)
	}
	// Side by side each token of one chunk sees none of the other chunk's: that is the
	// product of their lengths. Their sum is known from what 3 reuses, so that product
	// and sum must be those of two whole numbers.
	a, b := naive.at(1).Tokens, side.at(1).Tokens
	sum := int64(rag.at(3).Tokens.Reused - rag.at(2).Tokens.Reused)
	product := a.Attended - b.Attended
	if a.Generated != b.Generated {
		product -= to(length(naive.at(1))) - to(length(side.at(1)))
	}
	root := int64(math.Round(math.Sqrt(float64(sum*sum - 4*product))))
	ok := product > 0 && sum*sum-4*product >= 0 && root*root == sum*sum-4*product && (sum+root)%2 == 0
	c.find("naive-parallel: tokens of 1 that do not see the other chunk", fmt.Sprintf("a product of two numbers whose sum is %d", sum), product, ok)
}

// flops: what the report says that answers took.
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
		c.same(fmt.Sprintf("%s: floating-point operations of %d", at.system, at.number), want, int64(got))
	}
}

// storage: tokens that were stored are those of instructions and chunks, each slice
// once. What lies around keys and values is a few per cent at the most.
func (c *checker) storage() {
	rag := c.systems["ragcache"]
	first, second, last := rag.at(3).Tokens.Reused, rag.at(6).Tokens.Reused, rag.at(9).Tokens.Reused
	instructions := rag.at(2).Tokens.Reused
	pairs := first + second + last - 2*instructions // each pair of chunks, and the instructions
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
		c.same(s.name+": bytes written, slices evicted", bytes(got.TensorBytes)+", 0", bytes(got.Written)+", "+bytes(got.Evicted))
	}
}
