// Package trial leads a run: it puts data sets to a percached under several systems,
// and keeps what came of it.
//
// Purpose: Run goes through the units of a run that its folder does not have yet, each
// on a percached of its own that holds nothing. In a unit every system has a space;
// all take the same documents in and do their idle work. Then one question at a time
// is asked of every system in turn, in an order that is drawn for each question, and
// behind it the systems do their idle work. So whatever slows the machine for a while
// slows all of them.
//
// Idle work: a system of kind predict does what the paper's section 5.3 says: before
// the questions so many rounds of prediction from the documents, and behind each
// question one from the history, populated and converted. One that may do all there
// is gets a bound of tokens, which is what PerCache has spent so far, or what the plan
// says. Percached does none by itself.
//
// Invariants: each question has an answer or a failure for every system. A unit is
// kept whole or not at all. A percached that is gone ends the run with an error. The
// first questions of a unit are asked in spaces that do not count.
//
// Goroutines: one while files are sent; it has ended when Run returns.
//
// State on disk: none but what package folder keeps.
package trial
