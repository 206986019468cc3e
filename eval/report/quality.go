package report

import (
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// scores are how an answer stands against others, each from 0 to 1. A question
// that failed has 0 in all.
type scores struct{ rougeL, bleu, exact, f1 float64 }

// score is nil if there is nothing to hold the answer against.
func score(a *eval.Answer, against []string) *scores {
	if len(against) == 0 {
		return nil
	}
	if a.Failure != "" {
		return &scores{}
	}
	s := &scores{rougeL: measure.RougeL(a.Text, against), bleu: measure.BLEU(a.Text, against), f1: measure.F1(a.Text, against)}
	if measure.Exact(a.Text, against) {
		s.exact = 1
	}
	return s
}

// Quality is how answers stand against others. The repeats of a question count as
// one, their mean.
type Quality struct {
	RougeL Estimate `json:"rouge_l"`
	BLEU   Estimate `json:"bleu"`
	Exact  Estimate `json:"exact_match"`
	F1     Estimate `json:"f1"`
}

// quality is nil if none could be held against anything.
func quality(seed uint64, askings []asking, of func(*asking) *scores) *Quality {
	one := func(pick func(*scores) float64) points {
		return gather(askings, func(a *asking) (float64, bool) {
			s := of(a)
			if s == nil {
				return 0, false
			}
			return pick(s), true
		}, measure.Mean)
	}
	rouge := one(func(s *scores) float64 { return s.rougeL })
	if len(rouge.keys) == 0 {
		return nil
	}
	return &Quality{
		RougeL: rouge.estimate(seed),
		BLEU:   one(func(s *scores) float64 { return s.bleu }).estimate(seed),
		Exact:  one(func(s *scores) float64 { return s.exact }).estimate(seed),
		F1:     one(func(s *scores) float64 { return s.f1 }).estimate(seed),
	}
}

// right is a score against gold.
func right(pick func(*scores) float64) value {
	return func(a *asking) (float64, bool) {
		if a.right == nil {
			return 0, false
		}
		return pick(a.right), true
	}
}

// recalled says whether an answer rests on the document that holds the right one;
// false if that is not known. A question that failed rests on nothing.
func recalled(a *asking) (found, known bool) {
	switch {
	case a.failed():
		return false, a.located
	case a.answer.Recalled == nil:
		return false, false
	default:
		return *a.answer.Recalled, true
	}
}

// recall counts questions; one counts as found if it was in every repeat.
func recall(askings []asking) *Rate {
	known := func(a *asking) bool { _, ok := recalled(a); return ok }
	lost := func(a *asking) bool { found, ok := recalled(a); return ok && !found }
	of := distinct(askings, known)
	return rateOf(of-distinct(askings, lost), of)
}
