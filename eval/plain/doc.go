// Package plain reads the plain layout, for one's own data: a folder with the
// folder documents and the file questions.jsonl.
//
// Purpose: Load. It gives one Set, whose questions are asked in the order in which
// they stand. documents holds anything that percached add reads. A line of
// questions.jsonl is an object:
//
//	question     what is asked
//	answers      answers that are right, a list; or answer, one of them. Without
//	             either, quality is not measured
//	also         further ones, as those of models/demo
//	paraphrases  the question in other words, a list
//	document     what the name of the file with the answer ends with: "plan.md" or
//	             "notes/plan.md", whole names
//
// Other fields are counted and passed over.
//
// Invariants: a line, file or folder that is not read is reported with the reason:
// all of a folder is either in the set or among what was skipped. Hidden files and
// folders are skipped, and links within, as percached add does. A file whose name the
// interface does not take is skipped, too.
//
// Goroutines: none. State on disk: none; files are opened for reading only.
package plain
