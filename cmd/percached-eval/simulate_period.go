package main

import (
	"time"

	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/scheduler"
)

// period is what happened in a week, or in all.
type period struct {
	Name      string `json:"name"`
	Documents struct {
		Added    int `json:"added"`
		Replaced int `json:"replaced"`
		Deleted  int `json:"deleted"`
	} `json:"documents"`
	questionsLine
	Relations map[persona.Relation]*questionsLine `json:"relations"`
	Idle      struct {
		Seconds     float64                      `json:"seconds"` // of compute
		Earned      float64                      `json:"earned"`  // seconds, by what was made so
		Preempted   int                          `json:"preempted"`
		Failed      int                          `json:"failed"`
		Kinds       map[scheduler.Kind]*idleKind `json:"kinds"`
		HoursWaited float64                      `json:"hours_not_worked"`
		NotWorked   map[string]float64           `json:"hours_not_worked_by_reason"` // more than one may stand at a time
	} `json:"idle"`
	Nights struct {
		Drained int            `json:"drained"` // all that could be done was done
		Left    map[string]int `json:"left"`    // something was left, by reason
	} `json:"nights"`
	// Pace is for how many hours prediction was at each speed.
	Pace        map[scheduler.Speed]float64 `json:"pace_hours"`
	Tensors     tensorsLine                 `json:"tensors"`
	Bank        bankLine                    `json:"bank"`
	Predictions predictionsLine             `json:"predictions"`
}

// questionsLine is how questions were answered.
type questionsLine struct {
	Asked    int                    `json:"asked"`
	Outcomes map[answer.Outcome]int `json:"outcomes"`
	Answers  map[rightness]int      `json:"answers"`
	// BankRate is the share of questions that the bank answered; ChunkRate and
	// TokenRate of the others the share of what was stored of their prompts.
	BankRate     float64 `json:"bank_hit_rate"`
	ChunkRate    float64 `json:"chunk_hit_rate"`
	TokenRate    float64 `json:"token_hit_rate"`
	MeanMs       float64 `json:"mean_ms"`
	MedianMs     float64 `json:"median_ms"`
	ColdMeanMs   float64 `json:"cold_mean_ms"` // the same questions without anything stored
	ColdMedianMs float64 `json:"cold_median_ms"`
	SavedSeconds float64 `json:"saved_seconds"`
	Waited       int     `json:"waited_for_a_job"`
	MaxWaitMs    float64 `json:"longest_wait_ms"`

	chunks, stored, tokens, reused int
	took, cold                     []time.Duration
}

// idleKind is what jobs of a kind did.
type idleKind struct {
	Jobs      int     `json:"jobs"`
	Nothing   int     `json:"nothing"`
	Preempted int     `json:"preempted"`
	Failed    int     `json:"failed"`
	Seconds   float64 `json:"seconds"`
	Computed  int     `json:"computed_tokens"`
	Generated int     `json:"generated_tokens"`
	Written   int64   `json:"bytes_written"`
	Earned    float64 `json:"earned"`
}

type tensorsLine struct {
	Written int64  `json:"bytes_written"`
	Stored  uint64 `json:"slices_stored"`
	Refused uint64 `json:"slices_refused"` // there was no room
	Evicted uint64 `json:"slices_evicted"`
	Bytes   int64  `json:"bytes"` // in the end
	Limit   int64  `json:"limit"`
	Slices  int    `json:"slices"`
}

// bankLine is what the bank held in the end.
type bankLine struct {
	Entries  int   `json:"entries"`
	Answered int   `json:"answered"`
	Stale    int   `json:"stale"`
	Bytes    int64 `json:"bytes"`
}

// predictionsLine is what was predicted, as it stood in the end.
type predictionsLine struct {
	Alive     int                       `json:"alive"`
	Populated int                       `json:"populated"`
	Hit       int                       `json:"hit"`
	Dropped   map[predictor.Drop]uint64 `json:"dropped"`
}

func newPeriod(name string) *period {
	p := &period{Name: name, questionsLine: *newQuestions(), Relations: map[persona.Relation]*questionsLine{}}
	p.Idle.Kinds, p.Idle.NotWorked, p.Nights.Left, p.Pace = map[scheduler.Kind]*idleKind{}, map[string]float64{}, map[string]int{}, map[scheduler.Speed]float64{}
	return p
}

func newQuestions() *questionsLine {
	return &questionsLine{Outcomes: map[answer.Outcome]int{}, Answers: map[rightness]int{}}
}

func (p *period) kind(k scheduler.Kind) *idleKind {
	if p.Idle.Kinds[k] == nil {
		p.Idle.Kinds[k] = &idleKind{}
	}
	return p.Idle.Kinds[k]
}

func (p *period) relation(r persona.Relation) *questionsLine {
	if p.Relations[r] == nil {
		p.Relations[r] = newQuestions()
	}
	return p.Relations[r]
}
