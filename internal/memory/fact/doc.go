// Package fact finds facts about the user in what the user said, and writes them as text.
//
// Purpose: [Extract] reads a statement by rules for English. [Record.Title] and
// [Record.Body] write a record as a document; [Parse] reads it back, so that the document
// is the only copy. [Secret] recognises what must not be stored. [Decide] says whether a
// question needs facts.
//
// Invariants: every value that Extract returns occurs in the statement. Parse returns the
// record that Title and Body wrote. No function keeps or logs text.
//
// Goroutines: none. State on disk: none.
package fact
