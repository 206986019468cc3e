// Package measure has the measures of the evaluation: how good answers are, how certain
// that is, and what they cost.
//
// Against the right answers. Exact and F1 follow SQuAD: lower case, no ASCII punctuation,
// no articles, words separated by one space. The nearest of several right answers counts.
// Contains is true if the answer has all words of a right answer in a row, in the same form.
// RougeL follows the package rouge-score without stemming: lower case, words of a-z and
// 0-9, F-measure with beta 1, the text as one sentence. The nearest right answer counts.
// BLEU follows sacrebleu for sentences: n-grams up to 4, tokenization 13a (without HTML
// entities and words hyphenated over lines), case-sensitive, all right answers together,
// brevity against the nearest length (the shorter of two), smoothing exp (halved for each
// length without a match, NLTK's method 3), and effective order, so that a short right
// answer has 1. All measures are from 0 to 1.
//
// Against the uncached answer. Contradicts and Differs find wrong served answers: answers
// with other facts than the uncached answer. Each fact needs its counterpart in the other
// answer. The facts are:
//
//   - numbers: 46k is 46,000; a currency or per cent counts if both have one
//   - days and times: each may say less than the other, but nothing different
//   - names: capitalized words that do not only begin a sentence, codes, addresses; Holm may be Maren Holm
//   - negation, and which of two opposites an answer says
//
// A refusal differs from every other answer. Other words with the same facts are the same
// answer, with two exceptions. Two answers without a shared fact or word differ. Two
// answers also differ if at least half of the words are equal at their places and other
// words replace the rest. The rules err both ways. An answer that says more has other
// facts and counts as wrong. The rules do not see who does what to whom. The count of
// answers that are not exactly the uncached one is an upper bound.
//
// Uncertainty, always 95 %. Wilson is for shares. BootstrapClusters is for means:
// percentiles of 10,000 resamples that draw users, and whole clusters of values of each user.
// PairedBootstrapClusters is for the difference of two systems on the same questions.
// LowerBootstrapClusters is for how much lower one is, as a share of the other.
// QuestionGroups says which questions are drawn together, and Clusters groups their
// values.
//
// Cost. Shape counts operations from a model's matrices. PaperLatency is the time of a
// prefill if reuse skips only the projections to Q, K and V, as in the paper. On
// Llama-3.2-3B, the paper's 87 MB per chunk are Q, K and V of 152 tokens with 4 bytes a
// value (or of 303 with 2). Rest computes the time of a question that belongs to no stage.
//
// Invariants: the result depends on the arguments alone, the seed included. No argument is
// changed.
//
// Goroutines: none. State on disk: none.
package measure
