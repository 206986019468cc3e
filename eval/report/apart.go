package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/percached/percached/eval"
)

// apart names everything in which two runs differ that they must have in common
// for a test to say anything of their systems.
func apart(first, second *eval.Results) []string {
	a, b, all := &first.Run, &second.Run, []string{}
	for _, f := range []struct {
		name string
		of   func(*eval.Run) any
	}{
		{"data set", func(r *eval.Run) any { return r.Dataset }},
		{"files and questions", func(r *eval.Run) any { return r.DataSum }},
		{"users", func(r *eval.Run) any { return users(r) }},
		{"model", func(r *eval.Run) any { return r.Model.Name + " " + r.Model.Fingerprint }},
		{"threads", func(r *eval.Run) any { return r.Model.Threads }},
		{"embedding model", func(r *eval.Run) any { return r.Embedder.Name + " " + r.Embedder.Fingerprint }},
		{"machine", func(r *eval.Run) any {
			m := r.Machine
			return fmt.Sprintf("%s/%s, %d CPUs (%s), %d bytes of memory", m.OS, m.Arch, m.CPUs, cmp.Or(m.CPU, "of unknown name"), m.MemoryBytes)
		}},
		{"version", func(r *eval.Run) any { return r.Version }},
		{"commit", func(r *eval.Run) any { return r.Commit }},
		{"seed", func(r *eval.Run) any { return r.Plan.Seed }},
		{"repeats", func(r *eval.Run) any { return r.Plan.Repeats }},
		{"questions of a user at the most", func(r *eval.Run) any { return r.Plan.Questions }},
		{"whether questions in the same words are asked once", func(r *eval.Run) any { return r.Plan.Distinct }},
		{"paraphrases", func(r *eval.Run) any { return r.Plan.Paraphrases }},
		{"questions to warm up", func(r *eval.Run) any { return r.Plan.Warmup }},
		{"rounds of prediction", func(r *eval.Run) any { return r.Plan.Rounds }},
		{"stride of prediction", func(r *eval.Run) any { return r.Plan.Stride }},
		{"byte limit", func(r *eval.Run) any { return r.Plan.LimitBytes }},
		{"idle tokens before", func(r *eval.Run) any { return r.Plan.IdleTokensBefore }},
		{"idle tokens after", func(r *eval.Run) any { return r.Plan.IdleTokensAfter }},
		{"whether answers mean anything", func(r *eval.Run) any { return !r.Plan.NoQuality }},
	} {
		if x, y := fmt.Sprint(f.of(a)), fmt.Sprint(f.of(b)); x != y {
			all = append(all, fmt.Sprintf("%s: %s; %s", f.name, cmp.Or(x, "unknown"), cmp.Or(y, "unknown")))
		}
	}
	if a.Commit == "" && b.Commit == "" && !a.Began.Equal(b.Began) {
		all = append(all, "commit not known: that of either run")
	}
	if n := others(first, second); n > 0 {
		all = append(all, fmt.Sprintf("questions: %d of those that both were asked have another text or right answer", n))
	}
	for _, key := range slices.Compact(slices.Sorted(slices.Values(append(sortedKeys(a.Settings), sortedKeys(b.Settings)...)))) {
		if x, y := a.Settings[key], b.Settings[key]; x != y {
			all = append(all, fmt.Sprintf("setting %s: %s; %s", key, cmp.Or(x, "default"), cmp.Or(y, "default")))
		}
	}
	for i := range a.Systems {
		for j := range b.Systems {
			if s, t := a.Systems[i], b.Systems[j]; s.Name == t.Name && settingsOf(&s) != settingsOf(&t) {
				all = append(all, fmt.Sprintf("what %s is: its settings are others", s.Name))
			}
		}
	}
	return all
}

// users are all that is said of them.
func users(r *eval.Run) string {
	var all []string
	for _, u := range r.Users {
		all = append(all, fmt.Sprintf("%s (%s, %d files, %d questions)", u.Name, u.Kind, u.Files, u.Questions))
	}
	return strings.Join(all, ", ")
}

// others counts the questions that go by the same and are not.
func others(a, b *eval.Results) (n int) {
	first := asked(a)
	for k, q := range asked(b) {
		if p := first[k]; p != nil && (p.Text != q.Text || !slices.Equal(p.Gold, q.Gold)) {
			n++
		}
	}
	return n
}

// asked is what was asked, each question once.
func asked(r *eval.Results) map[key]*eval.Asked {
	all := map[key]*eval.Asked{}
	for i := range r.Units {
		u, before := &r.Units[i], map[key]int{}
		for j := range u.Asked {
			k := key{user: u.User, number: u.Asked[j].Number, paraphrase: u.Asked[j].Paraphrase}
			before[k]++
			k.again = before[k] - 1
			if all[k] == nil {
				all[k] = &u.Asked[j]
			}
		}
	}
	return all
}

// settingsOf is all of a system that shapes what it does.
func settingsOf(s *eval.System) string {
	said, _ := json.Marshal([]any{s.Settings, s.Idle, s.Forgets, s.Reference, s.Then})
	return string(said)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
