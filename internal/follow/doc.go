// Package follow keeps a space in step with folders.
//
// Purpose: Run compares folders with what it knows of them and with the documents of a
// space. It adds new and changed files, and deletes documents whose file, or whose mail in
// a mailbox, vanished. Watch repeats that whenever something in the folders changes.
//
// Invariants: a document is deleted only if its folder was read and no followed file holds
// it any more. The documents of a file or folder that cannot be read stay, and so do those
// of a folder that is empty, missing or no longer mounted. A document that two files hold
// stays until both are gone. A killed Run leaves nothing that the next one does not put
// right: State is written before a document is deleted, and without State a Run only takes
// longer. A file whose size and time are as before is not read, and one whose content is as
// before is not sent.
//
// Goroutines: on Linux one reads events for each Watcher; Close ends it.
//
// State on disk: one JSON file a space, in the folder "sync" of the data folder (see
// State), and a lock beside it. They hold names of files and hashes of the names of
// documents, and no text. In an encrypted data folder the file is encrypted.
package follow
