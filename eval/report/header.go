package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
	"github.com/percached/percached/eval/systems"
)

// Header says what ran, and what failed.
type Header struct {
	Dataset  string               `json:"dataset"`
	Began    time.Time            `json:"began"`
	Seconds  float64              `json:"seconds"` // of all units
	Version  string               `json:"version"`
	Commit   string               `json:"commit"`
	Machine  eval.Machine         `json:"machine"`
	Model    client.AboutModel    `json:"model"`
	Embedder client.AboutEmbedder `json:"embedder"`
	Settings map[string]string    `json:"settings"`
	Plan     eval.Plan            `json:"plan"`
	Users    []HeaderUser         `json:"users"`
	Units    int                  `json:"units"`   // finished
	Undone   []string             `json:"undone"`  // unfinished units
	Absent   []string             `json:"absent"`  // systems without results in a unit
	Systems  int                  `json:"systems"` // of the run

	Failures   []Failure      `json:"failures"`
	Skipped    []eval.Skipped `json:"skipped"`
	PassedOver map[string]int `json:"passed_over"`
	Unread     []Unread       `json:"unread"`
	LeftOut    map[string]int `json:"left_out"` // parts of documents, by reason
}

// HeaderUser is a user with the number of questions asked.
type HeaderUser struct {
	eval.User
	Documents   int `json:"documents"` // in the first unit
	Chunks      int `json:"chunks"`
	Asked       int `json:"asked"` // questions, each once
	Texts       int `json:"texts"` // distinct texts; case does not count
	Repeated    int `json:"repeated_texts"`
	Paraphrases int `json:"paraphrases"`
	Gold        int `json:"gold"`    // questions and paraphrases with a known right answer
	Located     int `json:"located"` // questions and paraphrases whose document is known
	Repeats     int `json:"repeats"` // finished
}

// Failure names a question that a system did not answer.
type Failure struct {
	System string `json:"system"`
	QuestionRef
}

// Unread is a document that percached could not read.
type Unread struct {
	User string `json:"user"`
	client.Failure
}

// header fills the header.
func (data *runData) header() Header {
	r := data.run
	h := Header{
		Dataset: r.Dataset, Began: r.Began.UTC(), Version: r.Version, Commit: r.Commit, Machine: r.Machine, Model: r.Model,
		Embedder: r.Embedder, Settings: map[string]string{}, Plan: r.Plan, Users: []HeaderUser{}, Units: len(data.units), Undone: []string{},
		Absent: []string{}, Systems: len(r.Systems), Failures: []Failure{}, Skipped: append([]eval.Skipped{}, r.Skipped...),
		PassedOver: map[string]int{}, Unread: []Unread{}, LeftOut: map[string]int{},
	}
	maps.Copy(h.Settings, r.Settings) // so that JSON has {} and not null
	maps.Copy(h.PassedOver, r.PassedOver)
	for i := range r.Users {
		h.Users = append(h.Users, data.user(&r.Users[i], &h))
	}
	for _, u := range data.units {
		h.Seconds += u.Seconds
		for i := range r.Systems {
			if name := r.Systems[i].Name; resultOf(u, name) == nil {
				h.Absent = append(h.Absent, fmt.Sprintf("%s of %s, repeat %d", name, u.User, u.Repeat))
			}
		}
	}
	for i := range r.Systems {
		name := r.Systems[i].Name
		for _, a := range data.responses[name] {
			if a.failed() {
				h.Failures = append(h.Failures, Failure{name, a.named(a.answer.Failure)})
			}
		}
	}
	return h
}

// user counts what was asked about a user's documents.
func (data *runData) user(u *eval.User, h *Header) HeaderUser {
	out := HeaderUser{User: *u}
	var done []int
	for _, unit := range data.units {
		if unit.User != u.Name {
			continue
		}
		if done = append(done, unit.Repeat); len(done) > 1 {
			continue // all repeats have the same documents and questions
		}
		out.Documents, out.Chunks = unit.Documents, unit.Chunks
		texts := map[string]bool{}
		for i := range unit.Asked {
			q := &unit.Asked[i]
			if q.Paraphrase > 0 {
				out.Paraphrases++
			} else {
				out.Asked++
				if text := measure.Fold(q.Text); text != "" && texts[text] {
					out.Repeated++
				} else {
					texts[text] = true
				}
			}
			if len(q.Gold) > 0 {
				out.Gold++
			}
			if q.Located {
				out.Located++
			}
		}
		out.Texts = out.Asked - out.Repeated
		for _, f := range unit.Unread {
			h.Unread = append(h.Unread, Unread{u.Name, f})
		}
		for _, f := range unit.LeftOut {
			h.LeftOut[f.Reason]++
		}
	}
	out.Repeats = len(done)
	for repeat := 1; repeat <= data.run.Plan.Repeats; repeat++ {
		if !slices.Contains(done, repeat) {
			h.Undone = append(h.Undone, fmt.Sprintf("%s, repeat %d", u.Name, repeat))
		}
	}
	return out
}

// facts are the header in lines of text.
func (h *Header) facts() []string {
	m, p := &h.Machine, &h.Plan
	memory := ""
	if m.MemoryBytes > 0 {
		memory = fmt.Sprintf(", %.1f GiB of memory", float64(m.MemoryBytes)/(1<<30))
	}
	questions, texts, paraphrases, documents, gold := 0, 0, 0, 0, 0
	for _, u := range h.Users {
		texts += u.Texts
		questions, paraphrases, documents, gold = questions+u.Asked, paraphrases+u.Paraphrases, documents+u.Documents, gold+u.Gold
	}
	side := ""
	if p.AtOnce > 1 {
		side = fmt.Sprintf(", %d users at a time, each with a daemon of its own", p.AtOnce)
	}
	facts := []string{
		fmt.Sprintf("percached: %s, commit %s", h.Version, cmp.Or(h.Commit, "unknown")),
		fmt.Sprintf("machine: %s/%s, %d CPUs (%s)%s", m.OS, m.Arch, m.CPUs, cmp.Or(m.CPU, "unknown model"), memory),
		fmt.Sprintf("model: %s, %.1f M parameters, %d threads, K/V %s/%s; embedder %s", h.Model.Name, float64(h.Model.Parameters)/1e6,
			h.Model.Threads, h.Model.KeyType, h.Model.ValueType, h.Embedder.Name),
		fmt.Sprintf("data (%s): %d users, %d documents, %s, %s (%s), %d paraphrases, %d with a right answer",
			h.Dataset, len(h.Users), documents, plural(questions, "question"), plural(texts, "distinct text"),
			choose(questions == texts, "no repeats", plural(questions-texts, "repeat")+" by the same user"), paraphrases, gold),
		fmt.Sprintf("plan: %d systems, %d repeats, seed %d, %d rounds of prediction with stride %d before the questions, %d warm-up questions%s",
			h.Systems, p.Repeats, p.Seed, p.Rounds, p.Stride, p.Warmup, side),
		fmt.Sprintf("limits per system and user: %.4g MiB of tensors; idle work of percached: %s", float64(p.LimitBytes)/(1<<20), idleBound(p)),
	}
	if len(h.Settings) > 0 {
		var set []string
		for _, key := range sortedKeys(h.Settings) {
			set = append(set, fmt.Sprintf("%s=%q", key, h.Settings[key]))
		}
		facts = append(facts, "settings that are not defaults: "+strings.Join(set, " "))
	}
	return append(facts, fmt.Sprintf("began %s; the users took %.1f s in all", h.Began.Format("2006-01-02 15:04 MST"), h.Seconds))
}

// idleBound says how much idle work percached may do. The protocol bounds the idle work of
// the other systems.
func idleBound(p *eval.Plan) string {
	if p.IdleTokensBefore+p.IdleTokensAfter == 0 {
		return "at most the tokens that percache has spent"
	}
	return fmt.Sprintf("%d tokens before the questions, and %d after each", p.IdleTokensBefore, p.IdleTokensAfter)
}

// notes say how to read the numbers.
func (data *runData) notes() []string {
	p := &data.run.Plan
	said := []string{
		"Latency is what the client waited for the whole answer. Means include misses and stored answers. The repeats of a question count as their median, then the mean is over questions. A failed answer has no latency; it counts as asked and as wrong.",
		"Intervals are 95 %. Those of means are by a bootstrap that draws users and then whole questions of each, with their paraphrases and with the same user's questions of the same text. With few users they are too narrow. Those of counts are by Wilson, as if all questions were independent.",
		fmt.Sprintf("All systems ran in one percached with one model, and each question was asked of all of them in turn, so the noise of the machine affects all. Warm-up questions (%d) are left out.", p.Warmup),
		"Stages are means over all answers with repeats. \"between\" is time in percached outside of the stages, \"outside\" is what the client waited beyond percached's total. The first token and the total include several stages.",
		"Floating-point operations are computed from the model's shape and the tokens that were computed and attended to; the machine does not count them. The embedding model is left out. Those of idle work are an estimate: each token is assumed to attend to as many tokens as in the reference's answers.",
		"The reference of a system answers the same question with the same placement and order, without a cache. A stored answer is wrong if its facts (numbers, names, dates, negation) differ from those of the reference's answer. This rule errs both ways. The count of answers with another text is an upper bound. A computed answer must have exactly the reference's text.",
		"The paper's mechanism is estimated for the same tensor hits: the reference's measured prefill of the same question, minus the share of the projections to Q, K and V for the reused tokens, plus the loading of Q.",
	}
	if n := p.Repeats; n <= 1 {
		said = append(said, "Each question was asked once, so one slow answer counts in full, and the intervals do not cover the machine's noise. "+systems.Naive+" and "+wholePrompt+" compute nearly the same: a difference as small as theirs is noise.")
	}
	if m := data.run.Model.Parameters; m > 0 && m < 1e9 {
		said = append(said, fmt.Sprintf("The model is small (%.1f M parameters). Its answers are often wrong, and its shares of prefill and decode differ from those of a large model.", float64(m)/1e6))
	}
	if c := data.run.Machine.CPUs; c > 0 && c <= 4 {
		said = append(said, fmt.Sprintf("The client and percached share %d CPUs.", c))
	}
	if p.NoQuality {
		said = append(said, "The model's answers mean nothing, so quality and wrong stored answers are unknown. The check of computed answers against the reference is still valid.")
	} else if !data.gold() {
		said = append(said, "No right answers are known, so there is no quality against them.")
	}
	joules := false
	for _, u := range data.units {
		for i := range u.Results {
			joules = joules || u.Results[i].Joules > 0
		}
	}
	if !joules {
		said = append(said, "The machine reports no energy.")
	}
	return said
}

// gold says whether any right answer is known.
func (data *runData) gold() bool {
	for _, u := range data.units {
		for i := range u.Asked {
			if len(u.Asked[i].Gold) > 0 {
				return true
			}
		}
	}
	return false
}
