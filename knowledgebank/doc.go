// Package knowledgebank stores a space's documents. It cuts them into chunks, which are
// named by the hash of their text, counts which documents hold a chunk, and deletes
// without leaving text behind.
//
// Purpose: [Bank.Add] stores a [Source]; package reader makes sources from files.
// [Bank.Changes] lists what is new and what was deleted for everybody who follows a
// space, such as an index.
//
// The path of a document: source.go checks it; unit.go and sentence.go split its text
// into sentences; cut.go joins them into chunks, which text.go gives a head; add.go works
// out the change as a draft (draft.go); journal.go writes it. record.go and keys.go say
// how records look, spaces.go creates and deletes spaces, repair.go mends damage.
//
// Invariants:
//   - A document is stored whole or not at all, and durably before Add returns if the
//     database is synced.
//   - A chunk exists as long as a document holds it. Its version is the space's count of
//     changes when it was added. The count never decreases, not even when a space is
//     deleted and created again.
//   - A changed document keeps its unchanged chunks with their versions: where a text is
//     cut depends on nearby words alone.
//   - After a deletion no text stays under any key; tombstones hold a hash.
//   - A damaged record is an Internal error that names its document; nothing else is
//     affected. Adding or deleting the document repairs it.
//   - Errors name documents and chunks by their public ids, which differ between spaces.
//     All other functions use internal ids.
//
// Goroutines: none. One goroutine at a time changes a space; any number read it.
//
// State on disk: keys that begin with 'K' in the database given to Open; see FORMAT.md.
package knowledgebank
