package main

import (
	"time"

	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/scheduler"
)

// period has the counts of a week, or of all weeks.
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
		Seconds     float64                      `json:"seconds"` // computing time
		Earned      float64                      `json:"earned"`  // seconds saved by the work
		Preempted   int                          `json:"preempted"`
		Failed      int                          `json:"failed"`
		Kinds       map[scheduler.Kind]*idleKind `json:"kinds"`
		HoursWaited float64                      `json:"hours_not_worked"`
		NotWorked   map[string]float64           `json:"hours_not_worked_by_reason"` // several reasons may apply at a time
	} `json:"idle"`
	Nights struct {
		Drained int            `json:"drained"` // nights after which no work was left
		Left    map[string]int `json:"left"`    // other nights, by reason
	} `json:"nights"`
	// Pace has the hours of prediction at each speed.
	Pace        map[scheduler.Speed]float64 `json:"pace_hours"`
	Tensors     tensorsLine                 `json:"tensors"`
	Bank        bankLine                    `json:"bank"`
	Predictions predictionsLine             `json:"predictions"`
}

// questionsLine counts answers to questions.
type questionsLine struct {
	Asked    int                    `json:"asked"`
	Outcomes map[answer.Outcome]int `json:"outcomes"`
	Answers  map[rightness]int      `json:"answers"`
	// BankRate is the share of questions that the bank answered. ChunkRate and TokenRate are
	// the stored share of the other questions' prompts.
	BankRate     float64 `json:"bank_hit_rate"`
	ChunkRate    float64 `json:"chunk_hit_rate"`
	TokenRate    float64 `json:"token_hit_rate"`
	MeanMs       float64 `json:"mean_ms"`
	MedianMs     float64 `json:"median_ms"`
	ColdMeanMs   float64 `json:"cold_mean_ms"` // the same questions without stored data
	ColdMedianMs float64 `json:"cold_median_ms"`
	SavedSeconds float64 `json:"saved_seconds"`
	Waited       int     `json:"waited_for_a_job"`
	MaxWaitMs    float64 `json:"longest_wait_ms"`

	chunks, stored, tokens, reused int
	took, cold                     []time.Duration
}

// idleKind counts the jobs of a kind.
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
	Refused uint64 `json:"slices_refused"` // over the limit
	Evicted uint64 `json:"slices_evicted"`
	Bytes   int64  `json:"bytes"` // at the end
	Limit   int64  `json:"limit"`
	Slices  int    `json:"slices"`
}

// bankLine has the counts of the bank at the end.
type bankLine struct {
	Entries  int   `json:"entries"`
	Answered int   `json:"answered"`
	Stale    int   `json:"stale"`
	Bytes    int64 `json:"bytes"`
}

// predictionsLine has the counts of predictions at the end.
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
