// Package trial runs an evaluation: it asks the questions of data sets under several
// systems, and stores the results.
//
// Purpose: Run goes through the units that the run's folder lacks. Each unit has a
// percached of its own that starts empty, and in it a space for each system. All systems
// add the same documents and do their idle work. Then each question is asked of all
// systems in turn, in an order that is drawn for each question, and the systems do idle
// work after it. So anything that slows the machine for a while slows all systems.
//
// Idle work: a system that predicts follows section 5.3 of the paper. Before the questions
// it does several rounds of prediction from the documents. After each question it does one
// from the history, with population and conversion. A system that does all idle work has a
// limit of tokens: what PerCache has spent so far, or what the plan says. Percached does
// no idle work by itself.
//
// Invariants: each question has an answer or a failure for every system. A unit is stored
// whole or not at all. If percached is gone, the run ends with an error. The warm-up
// questions of a unit are asked in a space that does not count.
//
// Goroutines: one while files are sent; it has ended when Run returns.
//
// State on disk: what package folder stores.
package trial
