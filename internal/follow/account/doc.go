// Package account keeps a space in step with a mail account, over IMAP.
//
// Purpose: Run compares the followed folders of an account with what it knows of them, adds
// new mails to the space and deletes the documents of mails that vanished. Watch repeats
// that whenever the server reports a change. Store keeps the accounts (Source) with their
// passwords.
//
// Invariants: nothing in the account changes: folders are opened with EXAMINE and mails read
// with BODY.PEEK. A mail is known by its UID; if the folder's UIDVALIDITY changes, by its
// Message-ID and size, so that it is not fetched again. A mail in two folders is one
// document, and stays until it has left both. A document that percached also has from
// a file stays: its path shows where it came from. The documents of an empty folder stay,
// and if a folder cannot be read, nothing is deleted. A killed Run leaves nothing that
// the next one does not put right. Mails are fetched and sent in portions that lie in a
// temporary folder beside the state, so memory does not grow with a mail or a portion. Errors
// and states hold no text of mails, and no password.
//
// The connection is encrypted and the server's certificate checked. Only an account on this
// machine may do without (Plain).
//
// The commands come from github.com/emersion/go-imap/v2: it reads mails as streams, which v1
// cannot, and is what its authors maintain. This package is its only door, and adds deadlines
// to it, which begin anew with each byte.
//
// Goroutines: the library reads each connection in one; Close ends it. Watch has one for each
// further folder that it listens to; they end before it returns.
//
// State on disk, below the folder "sync" of the data folder (see internal/base/home): for
// each source a record and, unless it names a file, a password, both in "sources"; in the
// folder of the space a JSON file with UIDs, sizes and hashes of the names of documents, a
// lock, and while a Run works a folder with the mails of one portion. In an encrypted data
// folder all of these but the lock are encrypted, and their names are keyed hashes; the file of
// a password begins with a line that names the source.
package account
