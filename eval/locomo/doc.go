// Package locomo reads questions about long conversations: the data set LoCoMo.
//
// Purpose: Load. It reads the JSON file as published, a list of conversations:
//
//	sample_id, conversation {session_1_date_time, session_1 [{speaker, dia_id, text}], ...}, qa [{question, answer, evidence, category}]
//
// A conversation is a user, and each of its sessions a transcript with the day in its name.
// Questions are in order of time: a question comes when the last session of its evidence
// has been. Pictures and their captions are ignored.
//
// Invariants: a question without an answer is not asked, and counted as skipped: those of
// category 5 ask for what was never said. Everything else that is not read is reported with
// place and reason.
//
// Goroutines: none. State on disk: none; files are only read.
package locomo
