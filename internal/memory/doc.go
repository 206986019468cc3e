// Package memory keeps facts about the user: what a person said or entered about themselves.
//
// Purpose: a fact is a document of the space with one chunk, in the format "memory". So
// search, tensors, stored answers, backup and deletion work for it as for other documents.
// [Book.Learn] finds facts in questions that were asked; [Book.Decide] says which facts a
// question needs.
//
// Invariants: the document is the only copy of a fact; package fact reads the record back
// from its text. A new value of an attribute that has one value ends the older fact on that
// day. Learn adds a fact once for each statement: a deleted fact does not come back from the
// same statement. Nothing that looks like a secret is stored.
//
// Goroutines: none. All methods are safe for concurrent use; one caller at a time changes
// facts.
//
// State on disk: which documents are facts, under the prefix 'M' of the meta database:
//
//	key: 'M' space document   value: sealed record, version 1: 0 (being added) or 1 (added)
//
// Space is the first 16 bytes of the SHA-256 of its name, document the ID of the document.
// The key of a fact that was deleted stays, until its space is deleted.
package memory
