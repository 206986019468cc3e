package scheduler

import "slices"

// Kind says what a job does.
type Kind string

// The kinds of job, most useful first: the order in which they are done.
const (
	Reembed   Kind = "reembed"   // vectors of another embedding model are made anew
	Check     Kind = "check"     // entries that newer documents may bear on are held against today's search
	Refresh   Kind = "refresh"   // a stale entry is answered again
	Answer    Kind = "answer"    // a question that was served from the bank is answered for real
	Restore   Kind = "restore"   // evicted slices of an entry are prefilled again
	Warm      Kind = "warm"      // a chunk that nobody asked for is prefilled
	Calibrate Kind = "calibrate" // placements are compared on a question
	Abstract  Kind = "abstract"  // a new chunk is summed up
	Predict   Kind = "predict"   // questions are predicted from the abstract
	History   Kind = "history"   // questions are predicted from the history
	Populate  Kind = "populate"  // a predicted question is prefilled, or answered
	Decode    Kind = "decode"    // an entry without an answer gets one
	Clean     Kind = "clean"     // what is left of forgotten things goes
)

// kinds is that order.
var kinds = [...]Kind{Reembed, Check, Refresh, Answer, Restore, Warm, Calibrate, Abstract, Predict, History, Populate, Decode, Clean}

// Kinds lists all kinds in the order in which they are done.
func Kinds() []Kind { return slices.Clone(kinds[:]) }

// Predicts says whether a kind's costs count as those of prediction, which has
// to pay for itself.
func (k Kind) Predicts() bool {
	switch k {
	case Abstract, Predict, History, Populate:
		return true
	}
	return false
}

// asks says whether a kind finds new questions: what a slow pace holds back.
func (k Kind) asks() bool { return k == Predict || k == History }

// resumes says whether a job of a kind, which may take hours, goes on where it was
// when it was interrupted. Others would never end if each window, or what is left of
// its budget, cut them; but for Clean they are one inference each.
func (k Kind) resumes() bool { return k == Check || k == Reembed }

// rank is the place in that order; below zero for what is no kind.
func (k Kind) rank() int { return slices.Index(kinds[:], k) }
