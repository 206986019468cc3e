// Package scheduler decides which idle work is done when, does one job at a
// time, and gives way at once when the user asks something.
//
// Purpose: a queue of jobs ([Job]) that is derived from what a worker finds to
// be due and survives restarts; the rules of when work is allowed (quiet,
// windows, budget, state of the device), of which every reason against can be
// read ([Reason]); back-off and parking of what fails; a ledger of what each
// kind of job costs and earns, by which prediction that does not pay slows down
// and stops ([Pace]). It knows nothing of questions and chunks: the worker does.
//
// Invariants: a job is named by kind, space and subject, and is in the queue
// once. What is due is the worker's truth; the queue adds only what no store
// knows: attempts, back-off, parking. So the queue may be lost without loss of
// work, and a job that was done is not done again unless the worker says anew
// that it is due. The end of a job, its costs and its credits are one
// transaction. Memory changes after the disk has, but for the ledger, the
// budget and the credits, which are added up in memory and written along with
// the next transaction: what a job cost with its own, what an answer earned
// with that of the next job or by Flush; a crash loses the last of these.
// Nothing that is stored or logged holds text of documents or questions: an
// error is told by its kind and the operations it came through. One space
// after the other is served, within a kind.
//
// Goroutines: one beside each job that is no errand, which holds it against the
// rules while it runs. Run and Drain work on their caller's. All
// methods are safe for concurrent use, but for Close; steps stand in one line.
// Foreground, Changed, Used and Own wait neither for the disk nor for a job.
//
// State on disk: keys that begin with 'S'; FORMAT.md describes them.
package scheduler
