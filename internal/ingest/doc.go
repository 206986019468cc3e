// Package ingest adds documents to all layers and forgets them.
//
// Purpose: Library.Add writes documents to the knowledge bank in batches and updates the
// index, the QA bank and the tree. Library.Delete forgets a document: it deletes its
// chunks, vectors, index terms, tensors, stored answers and history; CleanUp then removes
// their bytes from disk, and KeepClean calls it soon after each deletion. Add leaves out what
// DeleteForGood deleted. Recover makes the layers consistent after a crash. ExportSpace reads
// all records of a space, and an Import writes them into another database.
// ExportDocuments and a CopyUpdate keep a copy of the documents on another node.
//
// Invariants: the knowledge bank is authoritative. It holds a document completely or not
// at all, and every other layer can be updated from it. Before the first layer forgets
// anything, a note is written, so that Recover completes it after a crash and CleanUp
// after a failure. Questions in progress cannot bring anything back. A receipt has
// CleanedUp only when the bytes are gone.
//
// One caller at a time changes a space, and changes of different spaces do not wait for
// each other. CleanUp and Recover change all spaces and exclude all other changes. CleanUp
// begins anew for changes that wait. What is remembered of a deleted document has no word
// of it. An imported space exists wholly or, after an error or a crash, not at all.
//
// Goroutines: Add reads ahead on one of its own, which ends before Add returns.
//
// State on disk: notes of what is being forgotten, what is remembered of deleted documents, and
// imports that have not ended, under the prefix 'F' of the meta database; see pending.go,
// remembered.go, markkey.go and transfer.go. Exported documents have a format in copy.go.
package ingest
