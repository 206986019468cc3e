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
func apart(a, b *eval.Run) []string {
	all := []string{}
	for _, f := range []struct {
		name string
		of   func(*eval.Run) any
	}{
		{"data set", func(r *eval.Run) any { return r.Dataset }},
		{"users", func(r *eval.Run) any { return userNames(r) }},
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

func userNames(r *eval.Run) string {
	var names []string
	for _, u := range r.Users {
		names = append(names, u.Name)
	}
	return strings.Join(names, ", ")
}

// settingsOf is all of a system that shapes what it does.
func settingsOf(s *eval.System) string {
	said, _ := json.Marshal([]any{s.Settings, s.Idle, s.Forgets, s.Reference, s.Then})
	return string(said)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
