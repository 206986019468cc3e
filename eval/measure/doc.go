// Package measure has the measures of the evaluation.
//
// Purpose: to say in numbers how good answers are, how sure that is, and what they
// cost.
//
// Against gold. Exact and F1 do as SQuAD does: in lower case, without ASCII
// punctuation, without the words a, an and the, words apart by one space; of several
// right answers the nearest counts. RougeL does as the package rouge-score does
// without stemming: in lower case, what is not a to z or 0 to 9 parts words; the
// F-measure with beta 1, the text as one sentence; the nearest counts. BLEU does as
// sacrebleu does for sentences: up to 4 words in a row, tokenisation 13a (but for HTML
// entities and words hyphenated over lines), case counts, all right answers together,
// brevity against the nearest length (of two the shorter), smoothing exp (halved for
// each length without a match, NLTK's method 3), and effective order: a short answer
// that is right has 1. All are from 0 to 1.
//
// Against the uncached answer. Contradicts and Differs tell wrong answers that were
// served: those whose facts differ. Facts are numbers (46k is 46,000; a currency or
// per cent counts if both have one), days and times (each may say less of a day than
// the other, not something else), names (capitalised words but those that only begin a
// sentence, codes, addresses; Holm may be Maren Holm), whether something is denied, and
// which of two opposites is said. Each fact needs its counterpart in the other answer.
// A refusal differs from every answer. Other words are the same facts, but for two
// cases: no fact is shared and no other word; half of the words or more are the same,
// each at its place, and others stand where the rest stood. The rules err both ways.
// An answer that says more has other facts, and counts as wrong. Not seen is who does
// what to whom, and another word in a sentence that is also built otherwise. Above
// either is the count of answers that are not the uncached one letter by letter.
//
// How sure. Wilson is for shares; BootstrapClusters for means (percentiles of 10,000
// resamples; values that hang together are drawn as one cluster);
// PairedBootstrapClusters for the difference of two systems on the same questions;
// LowerBootstrapClusters for how much lower one is, as a share of the other. All are
// 95 %. QuestionGroups says which questions hang together, Clusters puts their values so.
//
// What it costs. Shape counts operations by a model's matrices. PaperLatency is how long
// a prefill would take if reuse skipped the projections to Q, K and V alone, as the
// paper's does. On Llama-3.2-3B the paper's 87 MB a chunk are Q, K and V of 152 tokens
// in 4 bytes a value (or of 303 in 2). Rest tells what of a question's time is of no
// stage.
//
// Invariants: all is computed from what is given; the same, with the same seed, gives
// the same. Nothing given is changed.
//
// Goroutines: none. State on disk: none.
package measure
