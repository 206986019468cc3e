// Package audit keeps the audit log: who asked, added, deleted and changed what, and when.
//
// Purpose: Write appends one record as a line of JSON. A record has names, IDs and counts, and
// no text of documents or questions.
//
// Invariants: a line is written with one call, so that a command and a daemon can share a file.
// A line that was cut by a crash or a full disk stays alone on its line. A Log deletes and
// renames nothing. If another program renames the file, the Log begins a new one. After a
// failed write, Ready returns an error until a write succeeds.
//
// Goroutines: none. A Log is safe for concurrent use.
//
// State on disk: the file that the config key audit-log names, in JSON lines.
package audit
