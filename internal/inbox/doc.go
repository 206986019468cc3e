// Package inbox keeps accepted uploads until their documents are stored.
//
// Purpose: Accept writes what a client sends to disk and returns an ID. Run adds
// the documents to the library. A client may disconnect after Accept, and the
// process may be killed: the upload continues after the next start.
//
// Invariants: Accept returns when the files and the record of an upload are
// durable. An upload that is refused leaves nothing behind, at the latest after
// the next Open. An interrupted upload starts again; adding a document twice
// changes nothing. An upload fails after the process died three times at the same
// place. Uploads of one space run in order; uploads of other spaces do not wait
// for them. Large documents stay within Options.Memory. One key names one content.
// A forgotten document does not return from an earlier upload (Withhold). File
// names from clients never become names on disk. Status reports contain names of
// documents and no text; Forget deletes them.
//
// Goroutines: Run starts one for each space that it works on and waits for them.
// All methods are safe for concurrent use.
//
// State on disk: records in the database, contents in a folder; see FORMAT.md. One
// process uses one Inbox at a time.
package inbox
