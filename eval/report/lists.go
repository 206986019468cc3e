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

// questionTable has every response, for further analysis.
func (r *Report) questionTable() *table {
	t := &table{name: "questions", hidden: true, columns: append(nameColumns(),
		plain("", "place"), plain("", "failure"), plain("", "outcome"), plain("", "origin"), plain("", "refused"), plain("", "first_token_ms"), plain("", "latency_ms"),
		column{"", []string{"chunks_stored", "chunks_all"}}, column{"", []string{"tokens_reused", "tokens_prompt"}}, plain("", "tokens_computed"), plain("", "tokens_generated"),
		plain("", "flops"), column{"", []string{"rouge_l", "bleu", "exact_match", "f1"}},
		column{"", []string{"uncached_rouge_l", "uncached_bleu", "uncached_exact_match", "uncached_f1"}},
		plain("", "same_text"), plain("", "wrong"), plain("", "recalled"), plain("", "paper_ms"), plain("", "paper_flops"), plain("", "paper_bytes"), plain("", "idle_tokens"),
	)}
	for i := range r.Questions {
		q := &r.Questions[i]
		bytes := absent(1)
		if q.PaperBytes != nil {
			bytes = scaled(float64(*q.PaperBytes), 1, 0)
		}
		t.add(false, append(q.cells(q.System),
			count(q.Place), textCell(q.Reason), textCell(string(q.Outcome)), textCell(q.Origin), flag(&q.Refused), decimal(q.FirstMS, 0), decimal(q.TotalMS, 0),
			part(q.Chunks.Stored, q.Chunks.All), part(q.Tokens.Reused, q.Tokens.Prompt), count(q.Tokens.Computed), count(q.Tokens.Generated),
			whole(q.FLOPs), q.Gold.cell(), q.Uncached.cell(), flag(q.Same), flag(q.Wrong), flag(q.Recalled), maybe(q.PaperMS, 0), whole(q.PaperFLOPs), bytes,
			count(q.IdleTokens))...)
	}
	return t
}

func (s *Scores) cell() cell {
	if s == nil {
		return absent(4)
	}
	return cell{"", []string{fixed(s.RougeL, 4), fixed(s.BLEU, 4), fixed(s.Exact, 0), fixed(s.F1, 4)}}
}

func flag(b *bool) cell {
	if b == nil {
		return absent(1)
	}
	return textCell(strconv.FormatBool(*b))
}

func whole(x *float64) cell {
	if x == nil {
		return absent(1)
	}
	return scaled(*x, 1, 0)
}
