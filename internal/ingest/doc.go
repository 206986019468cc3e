// Package ingest takes documents in and forgets them, in every layer.
//
// Purpose: Library.Add brings documents into the knowledge bank in batches and
// lets the index, the QA bank and the tree follow. Library.Delete makes a document
// forgotten: chunks, vectors, index terms, tensors, stored answers and history
// that rest on it go, and CleanUp then takes their bytes off the disk. Recover
// brings the layers together again after a crash.
//
// Invariants: the knowledge bank is the truth; a document is in it whole or not at
// all, and every other layer can be brought after it. What is to be forgotten is
// written down before the first layer forgets, so that a crash on the way is
// made good by Recover, and a failure by CleanUp. Questions under way bring nothing
// back. A receipt says CleanedUp only when the bytes are gone.
//
// Each space is changed by one caller at a time, and no change waits for one of
// another space. CleanUp and Recover change all of them: nothing else is changed
// meanwhile.
//
// Goroutines: Add reads ahead on one of its own, which ends before Add returns.
//
// State on disk: notes of what is being forgotten, under the prefix 'F' of the
// meta database: see pending.go.
package ingest
