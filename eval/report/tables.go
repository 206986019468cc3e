package report

import "fmt"

const (
	mebi = 1 << 20
	giga = 1e9
)

// tables are all of them, in the order of the page.
func (r *Report) tables() []*table {
	all := []*table{r.main(), r.latency(), r.byUser(), r.outcomes(), r.stageTable(), r.compute(), r.idle(), r.storage()}
	all = append(all, r.qualityTables()...)
	all = append(all, r.bankTable(), r.origins(), r.checks(), r.paperTable())
	for i := range r.Sweeps {
		all = append(all, r.sweepTable(&r.Sweeps[i]))
	}
	all = append(all, r.walkTable(), r.named(), r.failures(), r.questionTable())
	var some []*table
	for _, t := range all {
		if len(t.rows) > 0 {
			some = append(some, t)
		}
	}
	return some
}

// main is the one to read first.
func (r *Report) main() *table {
	t := &table{
		name: "systems", title: "By system", columns: []column{
			estimated("mean latency, ms", "latency_ms"), estimated("mean first token, ms", "first_token_ms"),
			plain("stored answers, %", "answer_hit_rate"), plain("stored tensors, %", "tensor_hit_rate"), plain("misses, %", "miss_rate"),
			{"tokens reused", []string{"tokens_reused", "tokens_prompt"}},
			plain("wrong served", "wrong_served"),
			estimated("ROUGE-L", "rouge_l"), plain("idle tokens", "idle_tokens"), plain("failed", "failed"),
		},
		note: "Means with 95 % intervals, misses included. Idle tokens are for one user.",
	}
	t.byScope(r, func(x *Totals) []cell {
		rouge := absent(3)
		if x.Quality != nil {
			rouge = estimate(&x.Quality.RougeL, 4)
		}
		return []cell{
			estimate(&x.Latency.Estimate, 2), estimate(&x.FirstToken.Estimate, 2), perCent(x.Outcomes.AnswerHitRate),
			perCent(x.Outcomes.TensorHitRate), perCent(x.Outcomes.MissRate), part(x.Tokens.Reused, x.Tokens.Prompt), wrongCell(&x.Bank),
			rouge, decimal(x.Idle.Tokens, 0), count(x.Failed),
		}
	})
	return t
}

func (r *Report) latency() *table {
	t := &table{
		name: "latency", title: "Latency and first token, ms", columns: []column{
			plain("asked", "asked"), plain("failed", "failed"), plain("refused", "refused"), plain("questions", "questions"),
			estimated("mean", "latency_ms"), plain("median", "latency_median_ms"), plain("p90", "latency_p90_ms"),
			estimated("first token, mean", "first_token_ms"), plain("median", "first_token_median_ms"), plain("p90", "first_token_p90_ms"),
		},
		note: "Asked counts repeats, questions do not.",
	}
	t.byScope(r, func(x *Totals) []cell {
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

// byUser is the mean latency of each system for each user.
func (r *Report) byUser() *table {
	t := &table{name: "users", title: "Mean latency by user, ms", columns: []column{plain("system", "system")}}
	for _, u := range r.Header.Users {
		t.columns = append(t.columns, estimated(u.Name, u.Name))
	}
	for i := range r.Systems {
		s := &r.Systems[i]
		cells := []cell{words(s.Name)}
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

func (r *Report) outcomes() *table {
	t := &table{name: "outcomes", title: "Outcomes and reuse", columns: []column{
		plain("stored answers", "answer_hit"), plain("stored tensors", "tensor_hit"), plain("misses", "miss"),
		{"chunks reused", []string{"chunks_stored", "chunks_all"}},
		{"tokens reused", []string{"tokens_reused", "tokens_prompt"}},
		plain("computed", "tokens_computed"), plain("generated", "tokens_generated"),
	}, note: "Counts are with repeats. Reuse is of what stood in prompts; a stored answer has none."}
	t.byScope(r, func(x *Totals) []cell {
		return []cell{
			count(x.Outcomes.AnswerHits), count(x.Outcomes.TensorHits), count(x.Outcomes.Misses), part(x.Chunks.Stored, x.Chunks.All),
			part(x.Tokens.Reused, x.Tokens.Prompt), count(x.Tokens.Computed), count(x.Tokens.Generated),
		}
	})
	return t
}

// stageTable is the paper's Table 1, over all systems.
func (r *Report) stageTable() *table {
	t := &table{name: "stages", title: "Stages, mean ms", note: "Over all answers; in brackets over those in which the stage took place."}
	var order []string
	for _, name := range r.stageNames() {
		order = append(order, name)
		t.columns = append(t.columns, column{name, []string{name + "_ms", name + "_taken_ms", name + "_count"}})
	}
	t.byScope(r, func(x *Totals) []cell {
		var cells []cell
		for _, name := range order {
			c := absent(3)
			for _, s := range x.Stages {
				if s.Name != name {
					continue
				}
				c = cell{fixed(s.Mean, 2), []string{fixed(s.Mean, 5), fixed(s.Took, 5), fmt.Sprint(s.Count)}}
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

// stageNames are those of any system, in the order of a question's path.
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
