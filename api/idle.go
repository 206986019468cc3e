package api

import (
	"time"

	"github.com/percached/percached"
)

// Prediction is a predicted question.
type Prediction struct {
	ID        string              `json:"id"`
	Space     string              `json:"space"`
	Question  string              `json:"question"`
	From      string              `json:"from"` // knowledge or history
	Chunks    []percached.ChunkID `json:"chunks"`
	Made      time.Time           `json:"made"`
	Populated bool                `json:"populated"` // prefilled or answered
	Hits      uint64              `json:"hits"`
	LastHit   time.Time           `json:"last_hit,omitzero"`
}

// Predictions lists a space's predictions, the latest first.
type Predictions struct {
	Predictions []Prediction    `json:"predictions"`
	Stats       PredictionStats `json:"stats"`
}

// PredictionStats counts a space's predictions and summaries.
type PredictionStats struct {
	Summaries   int               `json:"summaries"`
	Empty       int               `json:"empty"`
	Unused      int               `json:"unused"`
	Bytes       int64             `json:"bytes"`
	Predictions int               `json:"predictions"`
	FromHistory int               `json:"from_history"`
	Populated   int               `json:"populated"`
	Asked       int               `json:"asked"`
	Dropped     map[string]uint64 `json:"dropped"`
}

// Idle is the state of background work.
type Idle struct {
	State   string          `json:"state"` // working, idle, waiting, paused
	Reasons []Reason        `json:"reasons"`
	Running *Job            `json:"running,omitempty"`
	Since   time.Time       `json:"since,omitzero"`
	Window  Window          `json:"window"`
	Windows []string        `json:"windows"` // "0 1 * * * 4h"; empty: always
	Device  Device          `json:"device"`
	Jobs    map[string]int  `json:"jobs"` // waiting jobs by kind
	Parked  int             `json:"parked"`
	Pace    map[string]Pace `json:"pace"` // pace of prediction by space
}

// Reason says why background work does not run now.
type Reason struct {
	Code  string    `json:"code"`
	Text  string    `json:"text"`
	Until time.Time `json:"until,omitzero"`
}

// Window is the open time window, or the next one.
type Window struct {
	Open  bool      `json:"open"`
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
	Next  time.Time `json:"next,omitzero"`
	Used  Budget    `json:"used"`
	Left  Budget    `json:"left"`
}

// Budget limits background work in one window.
type Budget struct {
	ComputeSeconds float64 `json:"compute_seconds"`
	Questions      int     `json:"questions"`
	BytesWritten   int64   `json:"bytes_written"`
}

// Pace is how fast percached predicts in a space, and why.
type Pace struct {
	Speed  string    `json:"speed"` // full, slow, stopped
	Why    string    `json:"why"`
	Spent  float64   `json:"spent_seconds"`
	Earned float64   `json:"earned_seconds"`
	Until  time.Time `json:"until,omitzero"`
}

// Device is the known state of the device.
type Device struct {
	Charging    *bool     `json:"charging,omitempty"`
	Battery     *float64  `json:"battery,omitempty"`     // level, 0 to 1
	Temperature *float64  `json:"temperature,omitempty"` // °C
	At          time.Time `json:"at,omitzero"`           // zero: now
}

// Job is one queued piece of background work.
type Job struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"`
	Space    string    `json:"space"`
	Subject  string    `json:"subject"`
	Added    time.Time `json:"added"`
	From     time.Time `json:"from,omitzero"` // earliest start
	Attempts int       `json:"attempts"`
	Parked   bool      `json:"parked"`
	Reason   string    `json:"reason,omitempty"`
}

// Queue lists jobs in their order of execution.
type Queue struct {
	Jobs []Job `json:"jobs"`
}

// OneJob names a job.
type OneJob struct {
	Job string `path:"job"`
}

// LedgerQuery asks for the costs and savings of background work.
type LedgerQuery struct {
	Since time.Time `query:"since"` // zero: 30 days ago
	Space Given     `query:"space"` // empty: the sum of all spaces
}

// Ledger lists the costs and savings of background work.
type Ledger struct {
	Since    time.Time `json:"since"`
	Accounts []Account `json:"accounts"`
}

// Account holds the costs and savings of one kind of job.
type Account struct {
	Kind      string  `json:"kind"`
	Jobs      int     `json:"jobs"`
	Failed    int     `json:"failed"`
	Preempted int     `json:"preempted"`
	Seconds   float64 `json:"seconds"`
	Computed  int     `json:"computed_tokens"`
	Generated int     `json:"generated_tokens"`
	Written   int64   `json:"bytes_written"`
	Joules    float64 `json:"joules"`
	Measured  float64 `json:"measured_seconds"` // whose joules are known
	Earned    float64 `json:"earned_seconds"`
	Uses      int     `json:"uses"`
}

// DrainRequest asks the server to run background work now.
type DrainRequest struct {
	Space Given `query:"space"` // empty: all spaces
	Kinds Given `query:"kind"`  // comma-separated kinds; empty: all kinds
	// The run ends after this many jobs or tokens, or when no job is due.
	Jobs   int `query:"jobs"`
	Tokens int `query:"tokens"`
}

// Drained counts the work that was done.
type Drained struct {
	Work
	Kinds   []KindWork `json:"kinds"`
	Reasons []Reason   `json:"reasons"` // why the run ended
}

// KindWork counts the work of one kind.
type KindWork struct {
	Kind string `json:"kind"`
	Work
}

// Work counts jobs by result, and their cost.
type Work struct {
	Done      int     `json:"done"`
	Nothing   int     `json:"nothing"`
	Preempted int     `json:"preempted"`
	Failed    int     `json:"failed"`
	Parked    int     `json:"parked"`
	Computed  int     `json:"computed_tokens"`
	Generated int     `json:"generated_tokens"`
	Written   int64   `json:"bytes_written"`
	Questions int     `json:"questions"`
	Seconds   float64 `json:"seconds"`
}
