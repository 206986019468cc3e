// Package enronqa reads EnronQA: mails of many people, and questions about them.
//
// Purpose: Load. It reads the published data (parquet), and JSON lines with the same
// columns: one file, or a folder of files. A row is a mail:
//
//	path                 its place in the user's folders, such as jones-t/inbox/4.
//	user                 the owner of the mail
//	email                the mail
//	questions            the questions about it, a list
//	gold_answers         the answer to each, a list of the same length
//	rephrased_questions  each in other words, a list of the same length; optional
//	alternate_answers    more answers to each, texts or lists of texts; optional
//
// Other columns are counted and ignored. One of them is include_email, a flag for each
// question. It says how the authors made prompts for training, not whether the mail is to
// be searched. So each mail becomes a document and each question is asked, whatever the
// flag says. The published parts (train, dev, test) hold the same mails with different
// questions. In a folder of them each mail becomes one document, and the questions come
// part by part, by file name.
//
// If every mail of a user has a header Date, the questions are in order of these dates.
//
// Invariants: an unused row or question of a chosen user is reported with the reason.
// Questions are not asked if the lists differ in length, because their answers are then
// unclear. Mails of other users are not kept in memory. A damaged file is an error, never
// a panic.
//
// Goroutines: none. State on disk: none; files are only read.
package enronqa
