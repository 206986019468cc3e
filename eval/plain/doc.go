// Package plain reads a user's own data: a folder with the folder documents and the file
// questions.jsonl.
//
// Purpose: Load. It returns one Set, whose questions are asked in their order. The folder
// documents holds anything that percached add reads. A line of questions.jsonl is an
// object:
//
//	question     the question
//	answers      right answers, a list; or answer, one; without them there is no quality
//	also         more right answers, as in models/demo
//	paraphrases  the question in other words, a list
//	document     end of the name of the file with the answer: "plan.md" or "notes/plan.md"
//
// Other fields are counted and ignored.
//
// Invariants: each line, file and folder is either in the set or reported as skipped, with
// the reason. Hidden files and folders and links are skipped, as percached add does. A
// file whose name percached refuses is skipped too.
//
// Goroutines: none. State on disk: none; files are only read.
package plain
