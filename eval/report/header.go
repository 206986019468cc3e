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
)

// Header says what ran, and what did not go well.
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
	Units    int                  `json:"units"`   // that are done
	Undone   []string             `json:"undone"`  // units that are not
	Absent   []string             `json:"absent"`  // systems that a unit has nothing of
	Systems  int                  `json:"systems"` // of the run

	Failures   []Failure      `json:"failures"`
	Skipped    []eval.Skipped `json:"skipped"`
	PassedOver map[string]int `json:"passed_over"`
	Unread     []Unread       `json:"unread"`
	LeftOut    map[string]int `json:"left_out"` // parts of documents, by reason
}

// HeaderUser is a user, with what was asked.
type HeaderUser struct {
	eval.User
	Documents   int `json:"documents"` // in the first unit
	Chunks      int `json:"chunks"`
	Asked       int `json:"asked"` // questions, once
	Texts       int `json:"texts"` // of them, no two of which are the same but for case
	Repeated    int `json:"repeated_texts"`
	Paraphrases int `json:"paraphrases"`
	Gold        int `json:"gold"`    // of all asked: a right answer is known
	Located     int `json:"located"` // of all asked: the document with it is known
	Repeats     int `json:"repeats"` // that are done
}

// Failure names a question that a system did not answer.
type Failure struct {
	System string `json:"system"`
	Named
}

// Unread is a document that was not taken in.
type Unread struct {
	User string `json:"user"`
	client.Failure
}

// header gathers it.
func (b *book) header() Header {
	r := b.run
	h := Header{
		Dataset: r.Dataset, Began: r.Began.UTC(), Version: r.Version, Commit: r.Commit, Machine: r.Machine, Model: r.Model,
		Embedder: r.Embedder, Settings: map[string]string{}, Plan: r.Plan, Users: []HeaderUser{}, Units: len(b.units), Undone: []string{},
		Absent: []string{}, Systems: len(r.Systems), Failures: []Failure{}, Skipped: append([]eval.Skipped{}, r.Skipped...),
		PassedOver: map[string]int{}, Unread: []Unread{}, LeftOut: map[string]int{},
	}
	maps.Copy(h.Settings, r.Settings) // neither is null for a program
	maps.Copy(h.PassedOver, r.PassedOver)
	for i := range r.Users {
		h.Users = append(h.Users, b.user(&r.Users[i], &h))
	}
	for _, u := range b.units {
		h.Seconds += u.Seconds
		for i := range r.Systems {
			if name := r.Systems[i].Name; resultOf(u, name) == nil {
				h.Absent = append(h.Absent, fmt.Sprintf("%s of %s, repeat %d", name, u.User, u.Repeat))
			}
		}
	}
	for i := range r.Systems {
		name := r.Systems[i].Name
		for _, a := range b.askings[name] {
			if a.failed() {
				h.Failures = append(h.Failures, Failure{name, a.named(a.answer.Failure)})
			}
		}
	}
	return h
}

// user enters what was asked of a user's documents.
func (b *book) user(u *eval.User, h *Header) HeaderUser {
	out := HeaderUser{User: *u}
	var done []int
	for _, unit := range b.units {
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
	for repeat := 1; repeat <= b.run.Plan.Repeats; repeat++ {
		if !slices.Contains(done, repeat) {
			h.Undone = append(h.Undone, fmt.Sprintf("%s, repeat %d", u.Name, repeat))
		}
	}
	return out
}

// facts say it in lines.
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
	facts := []string{
		fmt.Sprintf("percached: %s, commit %s", h.Version, cmp.Or(h.Commit, "unknown")),
		fmt.Sprintf("machine: %s/%s, %d CPUs (%s)%s", m.OS, m.Arch, m.CPUs, cmp.Or(m.CPU, "of unknown name"), memory),
		fmt.Sprintf("model: %s, %.1f M parameters, %d threads, K/V %s/%s; embedder %s", h.Model.Name, float64(h.Model.Parameters)/1e6,
			h.Model.Threads, h.Model.KeyType, h.Model.ValueType, h.Embedder.Name),
		fmt.Sprintf("data (%s): %d users, %d documents, %s, %s (%s), %d paraphrases, %d of them with a right answer",
			h.Dataset, len(h.Users), documents, many(questions, "question"), many(texts, "distinct text"),
			choose(questions == texts, "none is asked twice of a user", many(questions-texts, "repeat")+" of a user's own"), paraphrases, gold),
		fmt.Sprintf("plan: %d systems, %d repeats, seed %d, %d rounds of prediction of stride %d first, %d questions to warm up",
			h.Systems, p.Repeats, p.Seed, p.Rounds, p.Stride, p.Warmup),
		fmt.Sprintf("bounds for each system and user: %.4g MiB of tensors; idle work %s", float64(p.LimitBytes)/(1<<20), idleBound(p)),
	}
	if len(h.Settings) > 0 {
		var set []string
		for _, key := range sortedKeys(h.Settings) {
			set = append(set, fmt.Sprintf("%s=%q", key, h.Settings[key]))
		}
		facts = append(facts, "settings beside the defaults: "+strings.Join(set, " "))
	}
	return append(facts, fmt.Sprintf("began %s, took %.1f s", h.Began.Format("2006-01-02 15:04 MST"), h.Seconds))
}

// idleBound says how much idle work percached might do. What the others do is bounded
// by their protocol.
func idleBound(p *eval.Plan) string {
	if p.IdleTokensBefore+p.IdleTokensAfter == 0 {
		return "of percached: no more tokens than percache has spent by then"
	}
	return fmt.Sprintf("of percached: %d tokens before the questions, and %d more after each", p.IdleTokensBefore, p.IdleTokensAfter)
}
