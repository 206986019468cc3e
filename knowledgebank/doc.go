// Package knowledgebank keeps a space's documents: it takes them in, cuts them
// into chunks that are named by the hash of their text, counts who uses which
// chunk, and deletes so that nothing is left behind.
//
// Purpose: Bank.Add brings a Source in, which subpackages read from files.
// Bank.Changes tells those who follow a space, such as an index of it, what is
// new and what is gone.
//
// Invariants: a document is in whole or not at all, and durable before it is
// acknowledged if the database is synced. A chunk is there as long as a document
// holds it. Its version is the space's count of changes when it came in; the
// count never goes back, not even when a space is deleted and made again. A
// changed document keeps its unchanged chunks with their versions: where a text
// is cut depends on the words near by, not on what stands far before. Of what is
// deleted no text is left under any key; tombstones hold a hash. A damaged record
// is an Internal error that names its document, and nothing else suffers; adding
// or deleting the document mends it. Errors name documents and chunks by their
// public ids, which differ between spaces; all else takes and gives their own.
//
// Goroutines: none. A space is changed by one at a time, and read by any number.
//
// State on disk: keys that begin with 'K' in the database given to Open; see
// FORMAT.md.
package knowledgebank
