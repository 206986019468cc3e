package report

import (
	"strconv"
	"strings"
)

func (r *Report) sweepTable(w *Sweep) *table {
	t := &table{
		name: "sweep_" + w.Of + "_" + w.Key, title: w.Of + " by " + w.Key, columns: []column{
			plain(w.Key, w.Key), plain("limit, MiB", "limit_bytes"), estimated("mean latency, ms", "latency_ms"), estimated("mean first token, ms", "first_token_ms"),
			plain("stored answers, %", "answer_hit_rate"), plain("verified, %", "verified_hit_rate"), plain("stored tensors, %", "tensor_hit_rate"),
			estimated("ROUGE-L", "rouge_l"), estimated("BLEU", "bleu"), rated("wrong served", "wrong"),
			plain("evicted", "evicted"), plain("idle tokens", "idle_tokens"), plain("failed", "failed"),
		},
	}
	for i := range w.Rows {
		v := &w.Rows[i]
		value := textCell(strconv.FormatFloat(v.Value, 'g', -1, 64))
		value.text = strings.TrimPrefix(v.Label, w.Key+"=")
		t.add(false, value, scaled(float64(v.LimitBytes), mebi, 1), estimate(&v.Latency, 2), estimate(&v.FirstToken, 2),
			perCent(v.Outcomes.AnswerHitRate), perCent(v.Outcomes.VerifiedHitRate), perCent(v.Outcomes.TensorHitRate), estimate(v.RougeL, 4), estimate(v.BLEU, 4),
			rate(v.Wrong), decimal(v.Evicted, 1), decimal(v.IdleTokens, 0), count(v.Failed))
	}
	return t
}

func (r *Report) walkTable() *table {
	t := &table{name: "one_question", title: "One question, walked through"}
	w := r.Walk
	if w == nil {
		return t
	}
	t.note = "Question " + w.sentence() + "."
	t.columns = []column{
		plain("system", "system"), plain("outcome", "outcome"), plain("origin", "origin"), plain("nearest stored question", "similarity"),
		{"chunks reused", []string{"chunks_stored", "chunks_all"}},
		{"tokens reused", []string{"tokens_reused", "tokens_prompt"}},
		plain("first token, ms", "first_token_ms"), plain("whole answer, ms", "latency_ms"),
	}
	for i := range w.Steps {
		s := &w.Steps[i]
		t.add(false, textCell(s.System), textCell(choose(s.Failed, "failed", string(s.Outcome))), textCell(s.Origin), decimal(s.Similarity, 3),
			part(s.Chunks.Stored, s.Chunks.All), part(s.Tokens.Reused, s.Tokens.Prompt), decimal(s.FirstMS, 2), decimal(s.TotalMS, 2))
	}
	return t
}

// sentence names a question.
func (n *QuestionRef) sentence() string {
	s := strconv.Itoa(n.Number)
	if n.Paraphrase > 0 {
		s += ", paraphrase " + strconv.Itoa(n.Paraphrase)
	}
	return s + " of " + n.User + ", repeat " + strconv.Itoa(n.Repeat)
}

func nameColumns() []column {
	return []column{
		plain("system", "system"), plain("user", "user"), plain("repeat", "repeat"), plain("question", "number"), plain("paraphrase", "paraphrase"),
	}
}

func (n *QuestionRef) cells(system string) []cell {
	return []cell{textCell(system), textCell(n.User), count(n.Repeat), count(n.Number), count(n.Paraphrase)}
}

// differingTable lists the answers that differ from the reference's.
func (r *Report) differingTable() *table {
	t := &table{name: "differing", title: "Answers that differ from the reference's", columns: append(nameColumns(), plain("what", "what"), plain("came as", "came_as")), hidden: true}
	for i := range r.Systems {
		s := &r.Systems[i]
		for _, n := range s.All.Bank.Named {
			t.add(false, append(n.cells(s.Name), textCell("wrong answer served"), textCell(n.Reason))...)
		}
		if s.All.Check != nil {
			for _, n := range s.All.Check.Named {
				t.add(false, append(n.cells(s.Name), textCell("other text"), textCell(n.Reason))...)
			}
		}
	}
	return t
}

const maxNamed = 20 // rows of a kind on the page; the files have all

func (r *Report) failureTable() *table {
	t := &table{name: "failures", title: "Failed questions", columns: append(nameColumns(), plain("reason", "reason"))}
	for i := range r.Header.Failures {
		f := &r.Header.Failures[i]
		t.add(i >= maxNamed, append(f.cells(f.System), textCell(f.Reason))...)
	}
	return t
}

// questionTable has a row for each answer, in the order of asking: what the means and
// intervals of latency, quality and wrong answers are computed from. A bootstrap draws the
// questions of a group together.
func (r *Report) questionTable() *table {
	const score = "rouge_l bleu exact_match containment f1"
	against := func(prefix string) (c column) {
		for _, name := range strings.Fields(score) {
			c.csv = append(c.csv, prefix+name)
		}
		return c
	}
	t := &table{name: "questions", hidden: true, columns: append(nameColumns(), column{"", strings.Fields(
		"group outcome origin refused first_token_ms latency_ms prefill_ms decode_ms tokens_prompt tokens_reused tokens_generated")},
		against(""), against("uncached_"), column{"", strings.Fields("same_text wrong recalled")})}
	for i := range r.Questions {
		q := &r.Questions[i]
		t.add(false, append(q.cells(q.System), cell{"", []string{
			strconv.Itoa(q.Group), choose(q.Reason != "", "failed", string(q.Outcome)), q.Origin, flag(&q.Refused),
			significant(q.FirstMS), significant(q.TotalMS), significant(q.PrefillMS), significant(q.DecodeMS),
			strconv.Itoa(q.Tokens.Prompt), strconv.Itoa(q.Tokens.Reused), strconv.Itoa(q.Tokens.Generated),
		}}, q.gold.cell(), q.uncached.cell(), cell{"", []string{flag(q.Same), flag(q.Wrong), flag(q.Recalled)}})...)
	}
	return t
}

func (s *scores) cell() cell {
	if s == nil {
		return absent(5)
	}
	return cell{"", []string{trimmed(s.rougeL, 4), trimmed(s.bleu, 4), trimmed(s.exact, 0), trimmed(s.contains, 0), trimmed(s.f1, 4)}}
}

// flag is 1, 0, or empty if it is unknown.
func flag(b *bool) string {
	switch {
	case b == nil:
		return ""
	case *b:
		return "1"
	}
	return "0"
}
