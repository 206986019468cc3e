// Package mised reads questions about meetings: the data sets MISeD and QMSum.
//
// Purpose: Load. It reads one file or a folder of them: JSON lines (.jsonl,
// .jsonl.gz) or a JSON object, or list of such, a file (.json). What an object is
// its fields say:
//
//	MISeD, a dialog: dialogId, meeting {meetingId, transcriptSegments [{speakerName,
//	text}]}, dialog {dialogTurns [{query, response}]}
//	QMSum, a meeting: meeting_transcripts [{speaker, content}], general_query_list and
//	specific_query_list [{query, answer}]
//
// Names of fields may be written with other cases of letters and with or without _,
// and what stands in meeting and dialog may stand outside. QMSum does not name its
// meetings: they go by their file, and by their line if it has many. Several dialogs
// may be of one meeting, of which later ones need not repeat the transcript. Other
// fields are counted and passed over; which segments a response rests on is one.
//
// A user is so many meetings in a row, the last one perhaps fewer. A meeting is one
// file of one JSON object, MEETING.json: so percached knows who says what, which of
// plain text it does not.
//
// Invariants: what is missing or not used is reported with its place and reason. A
// question without an answer is asked all the same, with none known. Meetings beyond
// those that are asked for are not held.
//
// Goroutines: none. State on disk: none; files are opened for reading only.
package mised
