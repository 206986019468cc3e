package report

import (
	"fmt"
	"slices"
)

const (
	mebi = 1 << 20
	giga = 1e9
)

// tables are all tables, in the order of the page.
func (r *Report) tables() []*table {
	all := []*table{r.mainTable(), r.latencyTable(), r.userTable(), r.outcomeTable(), r.stageTable(), r.computeTable(), r.idleTable(), r.storageTable()}
	all = append(all, r.qualityTables()...)
	all = append(all, r.bankTable(), r.originTable(), r.draftTable(), r.decodeTable(), r.checkTable(), r.paperTable())
	for i := range r.Sweeps {
		all = append(all, r.sweepTable(&r.Sweeps[i]))
	}
	all = append(all, r.walkTable(), r.differingTable(), r.failureTable(), r.questionTable())
	var some []*table
	for _, t := range all {
		if len(t.rows) > 0 {
			some = append(some, t)
		}
	}
	return some
}

// mainTable is the first table, and the only one with a row for each user of a system: in
// CSV, behind the row for all users.
func (r *Report) mainTable() *table {
	t := &table{
		name: "systems", title: "By system", columns: []column{
			plain("system", "system"),
			{"", []string{"user"}},
			estimated("mean latency, ms", "latency_ms"), estimated("mean first token, ms", "first_token_ms"),
			plain("stored answers, %", "answer_hit_rate"), plain("verified, %", "verified_hit_rate"), plain("stored tensors, %", "tensor_hit_rate"), plain("misses, %", "miss_rate"),
			{"tokens reused", []string{"tokens_reused", "tokens_prompt"}},
			plain("wrong served", "wrong_served"),
			estimated("ROUGE-L", "rouge_l"), plain("idle tokens", "idle_tokens"), plain("failed", "failed"),
		},
		note: "Means with 95 % intervals, misses included. Idle tokens are per user.",
	}
	line := func(s *System, user string, x *Totals) {
		rouge := absent(3)
		if x.Quality != nil {
			rouge = estimate(&x.Quality.RougeL, 4)
		}
		t.add(user != "" || s.Of != "", textCell(s.Name), cell{"", []string{user}},
			estimate(&x.Latency.Estimate, 2), estimate(&x.FirstToken.Estimate, 2), perCent(x.Outcomes.AnswerHitRate),
			perCent(x.Outcomes.VerifiedHitRate), perCent(x.Outcomes.TensorHitRate), perCent(x.Outcomes.MissRate), part(x.Tokens.Reused, x.Tokens.Prompt), wrongCell(&x.Bank),
			rouge, decimal(x.Idle.Tokens, 0), count(x.Failed))
	}
	for i := range r.Systems {
		s := &r.Systems[i]
		line(s, "", &s.All)
		for j := range s.Users {
			line(s, s.Users[j].User, &s.Users[j].Totals)
		}
	}
	return t
}

func (r *Report) latencyTable() *table {
	t := &table{
		name: "latency", title: "Latency and first token, ms", columns: []column{
			plain("asked", "asked"), plain("failed", "failed"), plain("refused", "refused"), plain("questions", "questions"),
			estimated("mean", "latency_ms"), plain("median", "latency_median_ms"), plain("p90", "latency_p90_ms"),
			estimated("first token, mean", "first_token_ms"), plain("median", "first_token_median_ms"), plain("p90", "first_token_p90_ms"),
		},
		note: "Asked includes repeats; questions does not.",
	}
	t.bySystem(r, func(x *Totals) []cell {
		cells := []cell{count(x.Asked), count(x.Failed), count(x.Refused), count(x.Distinct)}
		for _, times := range []*Times{&x.Latency, &x.FirstToken} {
			if times.Of == 0 {
				cells = append(cells, absent(3), absent(1), absent(1))
				continue
			}
			cells = append(cells, estimate(&times.Estimate, 2), decimal(times.Median, 2), decimal(times.P90, 2))
		}
		return cells
	})
	return t
}

// userTable has the mean latency of each system for each user.
func (r *Report) userTable() *table {
	t := &table{name: "users", title: "Mean latency by user, ms", columns: []column{plain("system", "system")}}
	for _, u := range r.Header.Users {
		t.columns = append(t.columns, estimated(u.Name, u.Name))
	}
	for i := range r.Systems {
		s := &r.Systems[i]
		cells := []cell{textCell(s.Name)}
		for _, u := range r.Header.Users {
			c := absent(3)
			for j := range s.Users {
				if s.Users[j].User == u.Name {
					c = estimate(&s.Users[j].Latency.Estimate, 2)
				}
			}
			cells = append(cells, c)
		}
		t.add(s.Of != "", cells...)
	}
	return t
}

func (r *Report) outcomeTable() *table {
	t := &table{name: "outcomes", title: "Outcomes and reuse", columns: []column{
		plain("stored answers", "answer_hit"), plain("verified", "verified_hit"), plain("stored tensors", "tensor_hit"), plain("misses", "miss"),
		{"chunks reused", []string{"chunks_stored", "chunks_all"}},
		{"tokens reused", []string{"tokens_reused", "tokens_prompt"}},
		plain("computed", "tokens_computed"), plain("generated", "tokens_generated"),
	}, note: "Counts include repeats. Verified: a stored answer that the model confirmed, which is computed. Reuse counts prompts; a stored answer has no prompt."}
	t.bySystem(r, func(x *Totals) []cell {
		return []cell{
			count(x.Outcomes.AnswerHits), count(x.Outcomes.VerifiedHits), count(x.Outcomes.TensorHits), count(x.Outcomes.Misses), part(x.Chunks.Stored, x.Chunks.All),
			part(x.Tokens.Reused, x.Tokens.Prompt), count(x.Tokens.Computed), count(x.Tokens.Generated),
		}
	})
	return t
}

// stageTable is the paper's Table 1, for all systems.
func (r *Report) stageTable() *table {
	t := &table{name: "stages", title: "Stages, mean ms", note: "Over all answers; in brackets over those that had the stage."}
	var order []string
	for _, name := range r.stageNames() {
		order = append(order, name)
		t.columns = append(t.columns, column{name, []string{name + "_ms", name + "_taken_ms", name + "_count"}})
	}
	t.bySystem(r, func(x *Totals) []cell {
		var cells []cell
		for _, name := range order {
			c := absent(3)
			for _, s := range x.Stages {
				if s.Name != name {
					continue
				}
				c = cell{fixed(s.Mean, 2), []string{trimmed(s.Mean, 5), trimmed(s.Took, 5), fmt.Sprint(s.Count)}}
				if s.Count > 0 {
					c.text += " (" + fixed(s.Took, 2) + ")"
				}
			}
			cells = append(cells, c)
		}
		return cells
	})
	return t
}

// stageNames are the stages of any system, in the order of a question's path.
func (r *Report) stageNames() (names []string) {
	there := map[string]bool{}
	for i := range r.Systems {
		for _, s := range r.Systems[i].All.Stages {
			there[s.Name] = true
		}
	}
	for _, name := range stageOrder() {
		if there[name] {
			names = append(names, name)
			delete(there, name)
		}
	}
	return append(names, sortedKeys(there)...)
}

func (r *Report) computeTable() *table {
	t := &table{name: "compute", title: "Compute per answer, GFLOP", columns: []column{
		plain("projections", "projections_flops"), plain("to Q, K, V", "qkv_flops"), plain("attention", "attention_flops"),
		plain("feed-forward", "feed_forward_flops"), plain("head", "head_flops"), plain("all", "flops"),
		plain("all, with idle work (estimate)", "estimated_flops_with_idle"),
	}, note: "Computed from the model's shape; means over all answers, stored ones included. The last column spreads idle work over them."}
	t.bySystem(r, func(x *Totals) []cell {
		c := x.Compute
		if c == nil {
			return nil
		}
		var cells []cell
		for _, flops := range []float64{c.Projections, c.QKV, c.Attention, c.FeedForward, c.Head, c.Total} {
			cells = append(cells, scaled(flops, giga, 4))
		}
		if c.WithIdle == nil {
			return append(cells, absent(1))
		}
		return append(cells, scaled(*c.WithIdle, giga, 4))
	})
	return t
}

func (r *Report) idleTable() *table {
	t := &table{name: "idle", title: "Idle work per user", columns: []column{
		plain("s before", "before_seconds"), plain("tokens computed before", "before_computed"), plain("generated before", "before_generated"),
		plain("s after", "after_seconds"), plain("tokens computed after", "after_computed"), plain("generated after", "after_generated"),
		plain("all tokens", "tokens"), plain("GFLOP (estimate)", "estimated_flops"), plain("MiB written", "bytes_written"),
		plain("failed attempts", "failed"),
	}, note: "Before and after the questions. For each kind of job: the number done, and in brackets their tokens."}
	energy := slices.ContainsFunc(r.Systems, func(s System) bool { return s.All.Idle.Joules != nil })
	if energy {
		t.columns = append(t.columns, plain("J", "joules"))
		t.note += " Joules are those of the whole machine."
	}
	kinds := r.kinds()
	for _, kind := range kinds {
		t.columns = append(t.columns, column{kind, []string{kind + "_jobs", kind + "_tokens"}})
	}
	t.bySystem(r, func(x *Totals) []cell {
		w := &x.Idle
		flops := absent(1)
		if w.FLOPs != nil {
			flops = scaled(*w.FLOPs, giga, 2)
		}
		cells := []cell{
			decimal(w.Before.Seconds, 2), decimal(w.Before.Computed, 0), decimal(w.Before.Generated, 0),
			decimal(w.After.Seconds, 2), decimal(w.After.Computed, 0), decimal(w.After.Generated, 0), decimal(w.Tokens, 0), flops,
			scaled(w.Before.BytesWritten+w.After.BytesWritten, mebi, 2), decimal(w.Before.Failed+w.After.Failed, 1),
		}
		if energy {
			cells = append(cells, maybe(w.Joules, 1))
		}
		return append(cells, w.kindCells(kinds)...)
	})
	return t
}

// kinds are the kinds of idle jobs of any system.
func (r *Report) kinds() []string {
	there := map[string]bool{}
	for i := range r.Systems {
		for _, k := range r.Systems[i].All.Idle.Kinds {
			there[k.Kind] = true
		}
	}
	return sortedKeys(there)
}

func (w *IdleWork) kindCells(kinds []string) (cells []cell) {
	for _, kind := range kinds {
		c := cell{unknown, []string{"0", "0"}}
		for _, k := range w.Kinds {
			if k.Kind == kind {
				c = cell{fixed(k.Done, 1) + " (" + fixed(k.Tokens, 0) + ")", []string{trimmed(k.Done, 4), trimmed(k.Tokens, 3)}}
			}
		}
		cells = append(cells, c)
	}
	return cells
}

func (r *Report) storageTable() *table {
	t := &table{name: "storage", title: "Storage per user", columns: []column{
		plain("MiB of tensors", "tensor_bytes"), plain("maximum", "most_tensor_bytes"), plain("slices", "slices"), plain("entries", "entries"),
		plain("evicted", "evicted"), plain("MiB written by questions", "written_bytes"),
	}, note: "At the end; the maximum is over all times and users."}
	t.bySystem(r, func(x *Totals) []cell {
		s := &x.Storage
		return []cell{
			scaled(s.TensorBytes, mebi, 2), scaled(float64(s.Most), mebi, 2), decimal(s.Slices, 1), decimal(s.Entries, 1),
			decimal(s.Evicted, 1), scaled(s.Written, mebi, 2),
		}
	})
	return t
}

func (r *Report) qualityTables() []*table {
	columns := func() []column {
		return []column{
			plain("questions", "questions"), estimated("ROUGE-L", "rouge_l"), estimated("BLEU", "bleu"), estimated("exact match", "exact_match"), estimated("containment", "containment"), estimated("F1", "f1"),
		}
	}
	cells := func(q *Quality) []cell {
		return []cell{count(q.RougeL.Of), estimate(&q.RougeL, 4), estimate(&q.BLEU, 4), estimate(&q.Exact, 4), estimate(&q.Contains, 4), estimate(&q.F1, 4)}
	}
	gold := &table{name: "quality", title: "Quality against right answers", note: "Containment: the share of answers that contain a right answer.", columns: append(columns(), rated("right document found", "retrieval_recall"))}
	gold.bySystem(r, func(x *Totals) []cell {
		if x.Quality == nil {
			return nil
		}
		return append(cells(x.Quality), rate(x.Recall))
	})
	same := &table{
		name: "uncached", title: "Quality against the uncached answer", columns: columns(),
		note: "Compared with the answer of the system's reference to the same question.",
	}
	same.bySystem(r, func(x *Totals) []cell {
		if x.Uncached == nil {
			return nil
		}
		return cells(x.Uncached)
	})
	return []*table{gold, same}
}

func (r *Report) bankTable() *table {
	t := &table{name: "bank", title: "Answers from the bank", columns: []column{
		plain("servings", "servings"), plain("questions", "served"), plain("checked", "checked"), rated("wrong", "wrong"),
		rated("other text", "other_text"), plain("same words", "same_words"), plain("other words", "other_words"), plain("refusals", "refused"),
	}, note: "A question counts as wrong if any repeat got a wrong answer. Other text: any repeat got an answer that is not exactly the uncached one; this is an upper bound. Same words: the stored question has the same words (similarity 1). Other words: it has others, in any repeat. Refusals: answers that the documents do not say."}
	t.bySystem(r, func(x *Totals) []cell {
		if x.Bank.Served == 0 {
			return nil
		}
		return []cell{count(x.Bank.Servings), count(x.Bank.Served), count(x.Bank.Checked), rate(x.Bank.Wrong), rate(x.Bank.OtherText), count(x.Bank.Same), count(x.Bank.Other), count(x.Bank.Refused)}
	})
	return t
}

func (r *Report) originTable() *table {
	t := &table{name: "bank_origins", title: "Answers from the bank, by origin", columns: []column{
		plain("system", "system"), plain("origin", "origin"), plain("questions", "served"), rated("wrong", "wrong"),
	}}
	for i := range r.Systems {
		for _, o := range r.Systems[i].All.Bank.Origins {
			t.add(r.Systems[i].Of != "", textCell(r.Systems[i].Name), textCell(o.Origin), count(o.Served), rate(o.Wrong))
		}
	}
	return t
}

// wholePrompt is the system that tokenizes the whole prompt at once. Its texts may differ
// from naive's; the comparison shows how much.
const wholePrompt = "naive-whole"

func (r *Report) checkTable() *table {
	t := &table{
		name: "same_text", title: "Computed answers against uncached ones", columns: []column{
			plain("system", "system"), plain("reference", "reference"), plain("compared", "compared"), plain("other text", "differ"),
			plain("share, %", "share"), plain("must be 0", "exact"),
		},
		note: "With stored tensors, a computed answer must have exactly the text of the reference's. " + wholePrompt + " shows the effect of tokenizing the whole prompt at once.",
	}
	for i := range r.Systems {
		s := &r.Systems[i]
		if c := s.All.Check; c != nil {
			t.add(s.Of != "" && c.Differ == 0, textCell(s.Name), textCell(s.Reference), count(c.Compared), count(c.Differ), perCent(c.Share),
				textCell(choose(s.Name == wholePrompt, "no", "yes")))
		}
	}
	return t
}

func (r *Report) paperTable() *table {
	t := &table{name: "paper", title: "The paper's mechanism for the same hits (estimate)", columns: []column{
		plain("hits", "tensor_hits"), plain("ours, ms", "ours_ms"), plain("paper's, ms", "paper_ms"), plain("no cache, ms", "cold_ms"),
		plain("mean of all questions with the paper's, ms", "all_paper_ms"), plain("ours, GFLOP", "ours_flops"), plain("paper's", "paper_flops"),
		plain("no cache", "cold_flops"), plain("ours, MiB", "ours_bytes"), plain("paper's", "paper_bytes"),
	}, note: "Means over tensor hits. The paper's mechanism skips only the projections to Q, K and V of reused tokens, and stores all three."}
	t.bySystem(r, func(x *Totals) []cell {
		p := x.Paper
		if p == nil {
			return nil
		}
		return []cell{
			count(p.Hits), decimal(p.Ours, 2), decimal(p.QKV, 2), decimal(p.Cold, 2), decimal(p.All, 2),
			scaled(p.FLOPs, giga, 3), scaled(p.FLOPsQKV, giga, 3), scaled(p.FLOPsCold, giga, 3), scaled(p.Bytes, mebi, 2), scaled(p.BytesQKV, mebi, 2),
		}
	})
	return t
}
