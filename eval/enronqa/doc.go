// Package enronqa reads EnronQA: mails of many people, and questions about them.
//
// Purpose: Load. It reads the data as published (parquet), and the same columns as
// JSON lines: one file, or a folder of them. A row is a mail:
//
//	path                 its place in the user's folders, such as jones-t/inbox/4.
//	user                 whose mail it is
//	email                the mail
//	questions            what is asked about it, a list
//	gold_answers         the answer to each, a list as long
//	rephrased_questions  each in other words, a list as long; may be missing
//	alternate_answers    further answers to each, a list as long of texts or of
//	                     lists of texts; may be missing
//
// Other columns are counted and passed over. One of them is include_email, a flag
// for each question (1 for half of those of the published training part, 0 for all
// of the other two). It tells how its authors made prompts for training, not
// whether the mail is to be searched: so each mail becomes a document and each
// question is asked, whatever it says. The published parts (train, dev, test) hold
// the same mails with different questions; of a folder of them each mail becomes
// one document, and the questions come one part after the other, by file name.
//
// Invariants: a row or question that is not used is reported with the reason, if it
// is of a user who was asked for. Questions whose answers cannot be told apart,
// because the lists differ in length, are not asked. Mails of other users are not
// held. A damaged file is an error, never a panic.
//
// Goroutines: none. State on disk: none; files are opened for reading only.
package enronqa
