// Package trial puts a set of documents and questions to a running percached, and
// reports what came of it.
//
// Purpose: Run takes the documents in and asks in rounds, one question at a time:
// every question for the first time, the paraphrases if they are wanted, every
// question again. Then it asks once more, past the bank, whatever the bank
// answered: where that gives another text, the stored answer may have been wrong.
// Report has the figures, as a table, as Markdown and as JSON; Save writes them to
// a folder, with a line for each question.
//
// Invariants: idle work is paused, so nothing changes but by the questions. The
// asking past the bank comes last, as it stores what it computes. Each question of
// each round has a line, and what failed counts as a wrong answer. A percached that
// is gone ends the trial with an error. Save makes the whole folder or none.
//
// Goroutines: one while files are sent; it has ended when Run returns.
//
// State on disk: what Save writes: report.json, report.md, answers.jsonl.
package trial
