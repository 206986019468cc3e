package api

import (
	"time"

	"github.com/percached/percached"
)

// Prediction is a question that may be asked.
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

// Predictions lists the predictions of a space, the latest first.
type Predictions struct {
	Predictions []Prediction    `json:"predictions"`
	Stats       PredictionStats `json:"stats"`
}

// PredictionStats counts what a space's predictor holds.
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

// Idle is what there is to know of idle work.
type Idle struct {
	State   string          `json:"state"` // working, idle, waiting, paused
	Reasons []Reason        `json:"reasons"`
	Running *Job            `json:"running,omitempty"`
	Since   time.Time       `json:"since,omitzero"`
	Window  Window          `json:"window"`
	Windows []string        `json:"windows"` // "0 1 * * * 4h"; none: always
	Device  Device          `json:"device"`
	Jobs    map[string]int  `json:"jobs"` // that wait, by kind
	Parked  int             `json:"parked"`
	Pace    map[string]Pace `json:"pace"` // of prediction, by space
}

// Reason says why there is no idle work now.
type Reason struct {
	Code  string    `json:"code"`
	Text  string    `json:"text"`
	Until time.Time `json:"until,omitzero"`
}

// Window is the window that is open, or what comes next.
type Window struct {
	Open  bool      `json:"open"`
	Start time.Time `json:"start,omitzero"`
	End   time.Time `json:"end,omitzero"`
	Next  time.Time `json:"next,omitzero"`
	Used  Budget    `json:"used"`
	Left  Budget    `json:"left"`
}

// Budget is what idle work may cost in one window.
type Budget struct {
	ComputeSeconds float64 `json:"compute_seconds"`
	Questions      int     `json:"questions"`
	BytesWritten   int64   `json:"bytes_written"`
}

// Pace is how prediction fares in a space.
type Pace struct {
	Speed  string    `json:"speed"` // full, slow, stopped
	Why    string    `json:"why"`
	Spent  float64   `json:"spent_seconds"`
	Earned float64   `json:"earned_seconds"`
	Until  time.Time `json:"until,omitzero"`
}

// Device is the state of the device, as far as it is known.
type Device struct {
	Charging    *bool     `json:"charging,omitempty"`
	Battery     *float64  `json:"battery,omitempty"`     // of full, 0 to 1
	Temperature *float64  `json:"temperature,omitempty"` // °C
	At          time.Time `json:"at,omitzero"`           // zero: now
}

// Job is one piece of idle work in the queue.
type Job struct {
	ID       string    `json:"id"`
	Kind     string    `json:"kind"`
	Space    string    `json:"space"`
	Subject  string    `json:"subject"`
	Added    time.Time `json:"added"`
	From     time.Time `json:"from,omitzero"` // not before
	Attempts int       `json:"attempts"`
	Parked   bool      `json:"parked"`
	Reason   string    `json:"reason,omitempty"`
}

// Queue lists jobs in the order in which they would be done.
type Queue struct {
	Jobs []Job `json:"jobs"`
}

// OneJob names a job.
type OneJob struct {
	Job string `path:"job"`
}

// LedgerIn asks for the books.
type LedgerQuery struct {
	Since time.Time `query:"since"` // zero: 30 days ago
	Space Given     `query:"space"` // empty: all together
}

// Ledger is what idle work cost and saved.
type Ledger struct {
	Since    time.Time `json:"since"`
	Accounts []Account `json:"accounts"`
}

// Account is what jobs of a kind cost, and what they earned.
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
	Earned    float64 `json:"earned_seconds"`
	Uses      int     `json:"uses"`
}

// DrainIn says which idle work is to be done.
type DrainRequest struct {
	Space Given `query:"space"` // empty: in all
	Kinds Given `query:"kind"`  // names with commas between them; empty: of all kinds
	// It ends when so many jobs are done, or have taken so many tokens; 0: when nothing
	// is due any more.
	Jobs   int `query:"jobs"`
	Tokens int `query:"tokens"`
}

// Drained counts what was done.
type Drained struct {
	Work
	Kinds   []KindWork `json:"kinds"`
	Reasons []Reason   `json:"reasons"` // why it ended
}

// KindWork counts what was done of one kind.
type KindWork struct {
	Kind string `json:"kind"`
	Work
}

// Work counts jobs that ended.
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
