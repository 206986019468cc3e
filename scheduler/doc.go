// Package scheduler decides which idle work runs when, runs one job at a time, and
// interrupts it at once when the user asks something.
//
// Purpose: the package has four parts.
//
//   - A queue of jobs ([Job]). The worker names what is due; the queue survives restarts.
//   - The rules of when work is allowed: idle delay, windows, budget, device state. Every
//     reason against idle work can be read ([Reason]).
//   - Retry with back-off, and parking of jobs that fail too often.
//   - A ledger of what each kind of job costs and earns. Prediction that does not pay
//     slows down and stops ([Pace]).
//
// The package knows nothing about questions and chunks; the worker does.
//
// Invariants: kind, space and subject identify a job, and the queue holds it once. The
// worker decides what is due; the queue adds only attempts, back-off and parking. So the
// queue may be lost without losing work, and a finished job runs again only if the worker
// names it again.
//
// The end of a job, its costs and its credits are written in one transaction. Memory
// changes after the disk. The ledger, the budget and the credits are the exception: they
// are added up in memory and written with the next transaction or by Flush, so a crash
// loses the latest of them.
//
// Records and logs hold no text of documents or questions: an error is stored as its kind
// and operations. Within a kind, spaces take turns.
//
// Goroutines: one beside each ordinary job, which checks the rules while it runs; jobs of
// a Drain have none. Run and Drain use their caller's goroutine. All methods except Close
// are safe for concurrent use; steps run one at a time. Foreground, Changed, RecordUse
// and RevokeCredits wait neither for the disk nor for a job.
//
// State on disk: keys that begin with 'S'; FORMAT.md describes them.
package scheduler
