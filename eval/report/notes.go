package report

import (
	"fmt"

	"github.com/percached/percached/eval/systems"
)

// notes say what to know when reading the numbers.
func (b *book) notes() []string {
	p := &b.run.Plan
	said := []string{
		"Latency is end to end as the client saw it, until the whole answer was there, and is always with misses and stored answers. A question's repeats count as one, their median; then the mean over questions. What failed has no latency; it counts as asked, and as wrong.",
		"Intervals are of 95 %: of means by a bootstrap that draws whole questions, each with its paraphrases and with all of the same user that have the same text; of counts by Wilson. With few questions they are too narrow.",
		"The questions of one user share a cache, and what one leaves there the next finds: they are not independent, as intervals take them to be.",
		fmt.Sprintf("All systems ran within one percached, asked in turn question by question, in one model at one time; its noise hits all. Questions to warm up (%d) are left out.", p.Warmup),
		"Stages are means over all answers with repeats; \"between\" is what percached took besides them, \"outside\" what the client waited beyond percached's total. The first token and the total hold several stages.",
		"Floating-point operations are reckoned from the model's shape and the tokens that were computed and could be seen, not counted by the machine. The embedding model is left out. Those of idle work are an estimate: the tokens that each could see are taken from the answers of the reference.",
		"The reference of a system answers the same question with the same placement and order, without any cache. A stored answer counts as wrong if its facts (numbers, names, dates, negation) are not those of the reference's answer; that errs both ways, and no more are wrong than have another text than it. A computed answer has to have the very text of the reference's.",
		"What the paper's mechanism would give is an estimate for the same tensor hits: the reference's measured prefill of the same question, less the share of the projections to Q, K and V of the reused tokens, plus loading Q too.",
	}
	if n := p.Repeats; n <= 1 {
		said = append(said, "Everything was asked once: a single slow answer counts in full, and intervals do not cover the machine's noise. How large that is shows in "+systems.Naive+" against "+wholePrompt+", which compute nearly the same, where both ran; a difference like theirs says nothing.")
	}
	if m := b.run.Model.Parameters; m > 0 && m < 1e9 {
		said = append(said, fmt.Sprintf("The model is small (%.1f M parameters): its answers are often wrong, and the shares of prefill and decode are not those of a large one.", float64(m)/1e6))
	}
	if c := b.run.Machine.CPUs; c > 0 && c <= 4 {
		said = append(said, fmt.Sprintf("Asking, answering and measuring share a machine of %d CPUs.", c))
	}
	if p.NoQuality {
		said = append(said, "The model's answers mean nothing, so there are no columns of quality, and it cannot be told which stored answers are wrong. Whether computed answers are those of the reference is told all the same.")
	} else if !b.gold() {
		said = append(said, "No right answers are known: there is no quality against gold.")
	}
	joules := false
	for _, u := range b.units {
		for i := range u.Results {
			joules = joules || u.Results[i].Joules > 0
		}
	}
	if !joules {
		said = append(said, "The machine tells no energy.")
	}
	return said
}

// gold says whether any right answer is known.
func (b *book) gold() bool {
	for _, u := range b.units {
		for i := range u.Asked {
			if len(u.Asked[i].Gold) > 0 {
				return true
			}
		}
	}
	return false
}
