package scheduler

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// Limits of what a worker may name.
const (
	maxName    = 4096 // bytes of a space's name, or of a reason
	maxSubject = 512  // bytes; what one look finds must fit a transaction
	maxCredit  = 1000 // credits of one job; more are left out, so that a job fits a transaction
)

// Due is a job that a worker finds to be done.
type Due struct {
	Subject string    // what it is about, in the worker's own words; at most 512 bytes
	From    time.Time // not before; zero: now
}

// Job is one piece of idle work in the queue. Kind, space and subject name it:
// adding it twice is one job.
type Job struct {
	Kind     Kind      `json:"kind"`
	Space    string    `json:"space"`
	Subject  string    `json:"subject"`
	Added    time.Time `json:"added"`
	From     time.Time `json:"from,omitzero"` // not before: a quiet period, or back-off
	Attempts int       `json:"attempts"`      // that failed
	Parked   bool      `json:"parked"`        // it failed too often, and waits for Retry
	Reason   string    `json:"reason,omitempty"`
}

type jobID [8]byte

func (id jobID) String() string { return hex.EncodeToString(id[:]) }

func (j Job) id() jobID {
	h := sha256.New()
	for _, part := range []string{"job", string(j.Kind), j.Space, j.Subject} {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	return jobID(h.Sum(nil))
}

// ID names the job: the same kind, space and subject always have the same.
func (j Job) ID() string { return j.id().String() }

// Done is what a job did; with an error, what it had done before.
type Done struct {
	Computed  int      `json:"computed"`  // tokens read by the model
	Generated int      `json:"generated"` // tokens written by it
	Written   int64    `json:"written"`   // bytes stored
	Questions int      `json:"questions"` // predicted or answered
	Credits   []Credit `json:"-"`         // what was made
	Nothing   bool     `json:"nothing"`   // there was nothing (left) to do
}

// Credit is something that a job made, and what it saves whenever it is used.
type Credit struct {
	ID    [16]byte // of an entry of the bank, or of a chunk whose slices were made
	Saves time.Duration
}

// why tells an error by its kind and the operations it came through. Its text
// may hold words of documents and questions; this is stored and shown.
func why(err error) string {
	ops := []string{fault.KindOf(err).String()}
	for {
		e, ok := errors.AsType[*fault.Error](err)
		if !ok {
			break
		}
		if !slices.Contains(ops, e.Op) {
			ops = append(ops, e.Op)
		}
		err = e.Err
	}
	text := strings.Join(ops, ": ")
	return text[:min(len(text), maxName)]
}
