// Package mised reads questions about meetings: the data sets MISeD and QMSum.
//
// Purpose: Load. It reads one file, or a folder of files. A file is JSON lines (.jsonl,
// .jsonl.gz), or one JSON object or list of objects (.json). The fields of an object say
// what it is:
//
//	MISeD, a dialog: dialogId, meeting {meetingId, transcriptSegments [{speakerName, text}]}, dialog {dialogTurns [{query, response}]}
//	QMSum, a meeting: meeting_transcripts [{speaker, content}], general_query_list and specific_query_list [{query, answer}]
//
// A turn or query may also have a paraphrase: the question in other words, which the
// published sets have not.
//
// Case and underscores in field names do not matter. The fields of meeting and dialog may
// also be outside of them. QMSum does not name its meetings: a meeting has the name of its
// file, and its line if the file has several. Several dialogs may be about one meeting,
// and only the first needs the transcript. Other fields are counted and ignored, such as
// the segments of a response.
//
// A user has several meetings in a row; the last user may have fewer. A meeting is one
// file with one JSON object, MEETING.json, so that percached knows who says what.
//
// Invariants: missing and unused parts are reported with place and reason. A question
// without an answer is still asked. Meetings beyond the requested number are not kept in
// memory.
//
// Goroutines: none. State on disk: none; files are only read.
package mised
