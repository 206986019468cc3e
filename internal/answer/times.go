package answer

import "time"

// Times says where an answer's time went. A stage that did not take place took
// no time. The stages do not overlap, but for FirstToken.
type Times struct {
	MatchQuestion time.Duration // exact repeat, embedding, near questions of the bank
	Retrieve      time.Duration // the question's chunks, and the gate
	MatchTensors  time.Duration // tokens, paths, what is stored of them
	Queue         time.Duration // waiting for the engine
	LoadTensors   time.Duration // stored tensors checked and restored
	Prefill       time.Duration // prompt tokens computed
	FirstToken    time.Duration // from the engine's start of work to the first token
	Decode        time.Duration // behind the first token
	Capture       time.Duration // tensors copied out
	Store         time.Duration // tensors, answer and history written
	Total         time.Duration
}

// Stage is one stage's name and time.
type Stage struct {
	Name string
	Took time.Duration
}

// Stages lists the stages in the order in which they take place.
func (t *Times) Stages() []Stage {
	return []Stage{
		{"match_question", t.MatchQuestion},
		{"retrieve", t.Retrieve},
		{"match_tensors", t.MatchTensors},
		{"queue", t.Queue},
		{"load_tensors", t.LoadTensors},
		{"prefill", t.Prefill},
		{"first_token", t.FirstToken},
		{"decode", t.Decode},
		{"capture", t.Capture},
		{"store", t.Store},
		{"total", t.Total},
	}
}

// lap gives the time since *at, and sets *at to now.
func lap(now func() time.Time, at *time.Time) time.Duration {
	t := now()
	d := t.Sub(*at)
	*at = t
	return d
}
