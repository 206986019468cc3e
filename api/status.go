package api

import (
	"time"

	"github.com/percached/percached"
)

// Status is how things stand, at a glance.
type Status struct {
	Started    time.Time         `json:"started"`
	Questions  StatusQuestions   `json:"questions"` // since then
	Stored     StatusStored      `json:"stored"`
	Waiting    StatusWaiting     `json:"waiting"`
	Idle       StatusIdle        `json:"idle"`
	Placements []StatusPlacement `json:"placements"`
}

// StatusQuestions counts questions, and what was saved on them.
type StatusQuestions struct {
	AnswerHits   int     `json:"answer_hits"`
	TensorHits   int     `json:"tensor_hits"`
	Misses       int     `json:"misses"`
	Failed       int     `json:"failed"`
	ReusedTokens int     `json:"reused_tokens"`
	SavedSeconds float64 `json:"saved_seconds"` // against answers without anything stored, about
}

// StatusStored counts what is stored, over all spaces.
type StatusStored struct {
	Spaces      int   `json:"spaces"`
	Documents   int   `json:"documents"`
	Chunks      int   `json:"chunks"`
	Entries     int   `json:"entries"`
	Answered    int   `json:"answered"` // entries that have an answer
	Stale       int   `json:"stale"`    // entries whose answer must be made anew
	BankBytes   int64 `json:"bank_bytes"`
	BankLimit   int64 `json:"bank_limit"`
	Slices      int   `json:"slices"`
	TensorBytes int64 `json:"tensor_bytes"`
	TensorLimit int64 `json:"tensor_limit"`
	DiskBytes   int64 `json:"disk_bytes"` // that the files of the slices really take
}

// StatusWaiting counts what is not done yet.
type StatusWaiting struct {
	Questions int `json:"questions"` // for the model
	Uploads   int `json:"uploads"`
	Jobs      int `json:"jobs"`
	Parked    int `json:"parked"` // jobs that failed too often
}

// StatusIdle tells of idle work.
type StatusIdle struct {
	State        string  `json:"state"`         // working, idle, waiting, paused
	SpentSeconds float64 `json:"spent_seconds"` // in the last 30 days
	SavedSeconds float64 `json:"saved_seconds"`
}

// StatusPlacement says how the model reads the chunks of prompts over documents of a kind.
type StatusPlacement struct {
	Kind         string              `json:"kind"`
	Placement    percached.Placement `json:"placement"`
	From         string              `json:"from"` // measured, family, default, configuration, model
	Why          string              `json:"why"`
	Questions    int                 `json:"questions"` // that were compared
	F1Sequential float64             `json:"f1_sequential"`
	F1Parallel   float64             `json:"f1_parallel"`
	Decided      time.Time           `json:"decided,omitzero"`
}
