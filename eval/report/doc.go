// Package report turns the results of a run into tables, figures and text.
//
// Purpose: Make sums a run up as plain data: the header, the totals of each system,
// percached against the best baseline, the sweeps over settings, and each question. The
// writers put this down as Markdown, CSV, JSON and text, with the figures as SVG. Compare tests
// two runs, or two systems, against each other. SideBySide shows several runs.
//
// Invariants: the same results give the same bytes. Every mean includes misses. A failed
// question counts as asked and as wrong, and is named. An unknown number is absent, never
// zero. The report holds no text of documents, questions or answers unless Quote is
// called.
//
// Goroutines: none. State on disk: what WriteAll and SideBySide write.
package report
