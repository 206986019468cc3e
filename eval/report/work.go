package report

import (
	"github.com/percached/percached/eval"
)

// IdleWork is what was done while nobody asked, on average for a user's questions
// asked once.
type IdleWork struct {
	Units  int     `json:"units"` // that it is the mean of
	Before Effort  `json:"before"`
	After  Effort  `json:"after"`
	Kinds  []Kind  `json:"kinds"`  // of jobs, before and after
	Tokens float64 `json:"tokens"` // computed and generated, before and after
	// FLOPs are estimated: the attention of idle work is reckoned with as many tokens
	// to see for a token as in the answers of the reference.
	FLOPs  *float64 `json:"estimated_flops,omitempty"`
	Joules *float64 `json:"joules,omitempty"` // where the machine tells
}

// Effort is some idle work.
type Effort struct {
	Seconds      float64 `json:"seconds"`
	Computed     float64 `json:"computed_tokens"`
	Generated    float64 `json:"generated_tokens"`
	BytesWritten float64 `json:"bytes_written"`
	Failed       float64 `json:"failed"` // attempts
}

// Kind is what jobs of one kind came to.
type Kind struct {
	Kind   string  `json:"kind"`
	Done   float64 `json:"done"`   // jobs
	Tokens float64 `json:"tokens"` // computed and generated
}

func (e *Effort) add(w *eval.Work, n float64) {
	e.Seconds += w.Seconds / n
	e.Computed += float64(w.Computed) / n
	e.Generated += float64(w.Generated) / n
	e.BytesWritten += float64(w.BytesWritten) / n
	e.Failed += float64(w.Failed) / n
}

// results are those of a system; of all users if none is named.
func (b *book) results(s *eval.System, user string) (all []*eval.Result) {
	for _, u := range b.units {
		if r := resultOf(u, s.Name); r != nil && (user == "" || u.User == user) {
			all = append(all, r)
		}
	}
	return all
}

// idle adds up idle work.
func (b *book) idle(s *eval.System, user string) (w IdleWork) {
	results := b.results(s, user)
	w.Units = len(results)
	n, joules := float64(w.Units), 0.0
	computed, generated := 0, 0
	kinds := map[string]Kind{}
	add := func(to *Effort, done *eval.Work) {
		to.add(done, n)
		computed, generated = computed+done.Computed, generated+done.Generated
		for i := range done.Kinds {
			k := &done.Kinds[i]
			sum := kinds[string(k.Kind)]
			kinds[string(k.Kind)] = Kind{string(k.Kind), sum.Done + float64(k.Done), sum.Tokens + float64(k.ComputedTokens+k.GeneratedTokens)}
		}
	}
	for _, r := range results {
		add(&w.Before, &r.Before)
		for i := range r.Answers {
			add(&w.After, &r.Answers[i].After)
		}
		joules += r.Joules / n
	}
	w.Kinds = []Kind{}
	for _, name := range sortedKeys(kinds) {
		k := kinds[name]
		w.Kinds = append(w.Kinds, Kind{name, k.Done / n, k.Tokens / n})
	}
	if joules > 0 {
		w.Joules = &joules
	}
	tokens := float64(computed + generated)
	if n > 0 {
		w.Tokens = tokens / n
	}
	sees := b.sees[s.Reference]
	if sees == 0 {
		sees = b.sees[s.Name]
	}
	if shape := shapeOf(&b.run.Model); shape != nil && n > 0 && (sees > 0 || tokens == 0) {
		flops := shape.Run(computed, generated, int64(sees*tokens)).Total() / n
		w.FLOPs = &flops
	}
	return w
}

// Storage is what a system holds in the end and wrote on the way, on average for a
// user's questions asked once.
type Storage struct {
	TensorBytes float64 `json:"tensor_bytes"`
	Most        int64   `json:"most_tensor_bytes"` // at any time, in any unit
	Slices      float64 `json:"slices"`
	Entries     float64 `json:"entries"`
	Evicted     float64 `json:"evicted"`
	Written     float64 `json:"written_bytes"` // by questions; idle work has its own
}

// storage adds up what is stored.
func (b *book) storage(s *eval.System, user string) (st Storage) {
	results := b.results(s, user)
	n := float64(len(results))
	for _, r := range results {
		st.TensorBytes += float64(r.TensorBytes) / n
		st.Slices += float64(r.Slices) / n
		st.Entries += float64(r.Entries) / n
		st.Evicted += float64(r.Evicted) / n
		st.Most = max(st.Most, r.TensorBytes)
		for i := range r.Answers {
			st.Written += float64(r.Answers[i].Written) / n
			st.Most = max(st.Most, r.Answers[i].TensorBytes)
		}
	}
	return st
}
