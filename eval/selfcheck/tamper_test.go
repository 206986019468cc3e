package selfcheck

import (
	"fmt"
	"slices"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/report"
)

// tamper changes results, or the report made of them. What is the start of the name of a
// finding that must notice. The changes of a batch affect different findings and are made
// together, because a report takes time.
type tamper struct {
	what, batch string
	results     func(*eval.Results)
	report      func(*report.Report)
}

func tampers() []tamper {
	all := unitTampers()
	for _, w := range expectations() {
		all = append(all, systemTampers(w)...)
	}
	return slices.Concat(all, tokenTampers(), byteTampers(), qualityTampers())
}

func of(r *eval.Results, system string) *eval.Result {
	u := &r.Units[0]
	return &u.Results[slices.IndexFunc(u.Results, func(x eval.Result) bool { return x.System == system })]
}

// unitTampers change what all systems share.
func unitTampers() []tamper {
	on := func(batch, what string, spoil func(*eval.Unit)) tamper {
		return tamper{batch: batch, what: what, results: func(r *eval.Results) { spoil(&r.Units[0]) }}
	}
	return []tamper{
		{what: "systems", results: func(r *eval.Results) { r.Run.Systems = r.Run.Systems[1:] }},
		{what: "units", results: func(r *eval.Results) { r.Units = append(r.Units, r.Units[0]) }},
		{what: "units", results: func(r *eval.Results) { r.Units = nil }},
		on("", "questions asked", func(u *eval.Unit) { u.Asked = u.Asked[:8] }),
		on("", "systems in the unit", func(u *eval.Unit) { u.Results = u.Results[:8] }),
		on("", "rows of likeness", func(u *eval.Unit) { u.Likeness = u.Likeness[:8] }),
		{what: "questions reported", report: func(r *report.Report) { r.Questions = r.Questions[1:] }},
		{what: "systems reported", report: func(r *report.Report) { r.Systems = r.Systems[1:] }},
		on("taken in", "documents", func(u *eval.Unit) { u.Documents = 5 }),
		on("taken in", "chunks", func(u *eval.Unit) { u.Chunks = 7 }),
		on("taken in", "files that were not read", func(u *eval.Unit) { u.Unread = []client.Failure{{Name: "cat.md"}} }),
		on("taken in", "questions near enough", func(u *eval.Unit) { u.Likeness[7][0] = 0.78 }),
		on("asked", "files that were not read", func(u *eval.Unit) { u.LeftOut = []client.Failure{{Name: "cat.md"}} }),
		on("asked", "questions in their order", func(u *eval.Unit) { u.Asked[3].Located = false }),
		on("asked", "questions near enough", func(u *eval.Unit) { u.Likeness[5][1] = 0.76 }),
		on("", "questions in their order", func(u *eval.Unit) { u.Asked[0], u.Asked[1] = u.Asked[1], u.Asked[0] }),
	}
}

// systemTampers change each system.
func systemTampers(w want) (all []tamper) {
	cold := w.system == "naive" || w.system == "naive-parallel" // others depend on them
	add := func(what string, spoil func(*eval.Result)) {
		all = append(all, tamper{
			batch: fmt.Sprint(what, cold), what: w.system + ": " + what, results: func(r *eval.Results) { spoil(of(r, w.system)) },
		})
	}
	sum := func(what string, spoil func(*report.Totals)) {
		all = append(all, tamper{what: w.system + ": " + what, report: func(r *report.Report) {
			at := slices.IndexFunc(r.Systems, func(s report.System) bool { return s.Name == w.system })
			spoil(&r.Systems[at].All)
		}})
	}
	add("answers, failures", func(r *eval.Result) { r.Answers[4].Failure = "no" })
	sum("tokens reused, as reported", func(t *report.Totals) { t.Tokens.Reused++ })
	sum("quality and recall", func(t *report.Totals) { t.Quality = nil })
	sum("quality and recall", func(t *report.Totals) { t.Recall = nil })
	if w.idle {
		add("tokens of idle work", func(r *eval.Result) { r.Before = eval.Work{} })
		add("how the same words came again", func(r *eval.Result) { r.Answers[2].Outcome = client.OutcomeMiss })
		if w.system == "percached" {
			sum("tokens of idle work", func(t *report.Totals) { t.Idle.Tokens = 2649 }) // PerCache's 600, and a context
		}
	} else {
		add("tokens of idle work", func(r *eval.Result) { r.Answers[8].After.Generated = 1 })
		add("how each question came", func(r *eval.Result) { r.Answers[0].Outcome = client.OutcomeTensorHit })
		sum("misses, tensor hits", func(t *report.Totals) { t.Outcomes.Misses++ })
		sum("verified hits, as reported", func(t *report.Totals) { t.Outcomes.VerifiedHits++ })
		add("chunks of prompts", func(r *eval.Result) { r.Answers[0].Reuse.Stored++ })
		sum("the same as reported", func(t *report.Totals) { t.Chunks.All-- })
	}
	if w.from != "" {
		sum("exact match", func(t *report.Totals) {
			q := *t.Quality
			q.Exact.Mean -= 1. / 9
			t.Quality = &q
		})
		sum("containment", func(t *report.Totals) {
			q := *t.Quality
			q.Contains.Mean -= 1. / 9
			t.Quality = &q
		})
		add("retrieval recall", func(r *eval.Result) { r.Answers[5].Recalled = new(false) })
	}
	if cold {
		return all
	}
	if w.system != "poisoned" {
		add("answers that are not the uncached", func(r *eval.Result) { r.Answers[3].Text = "4 June" })
		add("computed answers held against", func(r *eval.Result) { r.Answers[3].Text = "4 June" })
	}
	if w.wrong >= 0 {
		add("wrong answers served", func(r *eval.Result) {
			r.Answers[0].Outcome, r.Answers[0].Text = client.OutcomeAnswerHit, "$28,000"
			if w.system == "poisoned" {
				r.Answers[0].Text = "$46,000"
			}
		})
	}
	return all
}

// tokenTampers change counts.
func tokenTampers() (all []tamper) {
	add := func(batch, what, system string, number int, spoil func(*eval.Answer)) {
		all = append(all, tamper{batch: batch, what: what, results: func(r *eval.Results) { spoil(&of(r, system).Answers[number-1]) }})
	}
	more := func(a *eval.Answer) { a.Tokens.Reused++ }
	add("some", "prompts that are not", "percached", 2, func(a *eval.Answer) { a.Tokens.Prompt++ })
	add("some", "stored answers that took", "meancache", 3, func(a *eval.Answer) { a.Tokens.Computed = 3 })
	add("some", "naive: tokens seen", "naive", 6, func(a *eval.Answer) { a.Tokens.Attended++ })
	add("some", "naive-parallel: tokens of 1", "naive-parallel", 1, func(a *eval.Answer) { a.Tokens.Attended++ })
	add("uneven", "prompts of which", "percache", 2, func(a *eval.Answer) { a.Tokens.Computed-- })
	add("uneven", "ragcache: tokens seen", "ragcache", 2, func(a *eval.Answer) { a.Tokens.Attended-- })
	add("", "prompts of which", "naive", 2, func(a *eval.Answer) { a.Tokens.Generated = 0 })
	add("more", "naive: tokens reused", "naive", 9, more)
	add("more", "ragcache: tokens reused of the first", "ragcache", 1, more)
	for _, n := range []int{4, 7, 8} {
		add("more", fmt.Sprintf("ragcache: tokens reused of %d,", n), "ragcache", n, more)
	}
	for _, n := range []int{4, 6, 7, 9} {
		add("more", fmt.Sprintf("%s: tokens reused of %d,", reactive, n), reactive, n, more)
	}
	add("5", "ragcache: tokens reused of 5", "ragcache", 5, more)
	add("5", "ragcache: tokens of the instructions", "ragcache", 2, func(a *eval.Answer) { a.Tokens.Reused = 0 })
	add("", "ragcache: tokens of 3 that", "ragcache", 3, more)
	return all
}

// byteTampers change storage and the cost of answers.
func byteTampers() (all []tamper) {
	for _, s := range []string{"naive", "meancache", "ragcache", reactive, "poisoned"} {
		on := func(what, batch string, spoil func(*eval.Result)) {
			all = append(all, tamper{what: s + ": " + what, batch: batch, results: func(r *eval.Results) { spoil(of(r, s)) }})
		}
		on("bytes of tensors", "bytes", func(r *eval.Result) { r.TensorBytes += 80000 })
		on("bytes written", "written", func(r *eval.Result) { r.Answers[0].Written++ })
		on("bytes written", "evicted", func(r *eval.Result) { r.Evicted = 1 })
	}
	for _, s := range expectations() {
		if s.came != "" {
			all = append(
				all,
				tamper{what: s.system + ": slices, entries", batch: "evicted", results: func(r *eval.Results) { of(r, s.system).Slices++ }},
				tamper{what: s.system + ": slices, entries", batch: "written", results: func(r *eval.Results) { of(r, s.system).Entries++ }},
			)
		}
	}
	return append(
		all,
		tamper{what: "naive: floating-point", results: func(r *eval.Results) { r.Run.Model.Shape.Width = 128 }},
		tamper{what: "ragcache: floating-point", results: func(r *eval.Results) { r.Run.Model.Shape.Vocabulary = 4095 }},
		tamper{what: "naive-parallel: floating-point", results: func(r *eval.Results) { r.Run.Model.Shape.Heads = 8 }},
		tamper{what: "meancache: floating-point", report: func(r *report.Report) {
			for i := range r.Questions {
				r.Questions[i].FLOPs = nil
			}
		}},
	)
}

// qualityTampers change the answers of the control and of naive.
func qualityTampers() []tamper {
	none := func(r *eval.Results) {
		for i := range 3 {
			of(r, "naive").Answers[i].Text = "nobody knows"
		}
	}
	poisoned := func(r *eval.Results) *eval.Answer { return &of(r, "poisoned").Answers[8] }
	return []tamper{
		{what: "naive: most answers are right by", batch: "quality", results: none},
		{what: "poisoned: exact match", batch: "quality", results: func(r *eval.Results) { poisoned(r).Text = "555-0163" }},
		{what: "poisoned: retrieval recall", batch: "quality", results: func(r *eval.Results) { poisoned(r).Recalled = new(true) }},
	}
}
