// Package token keeps the tokens of a data folder: who may speak to the daemon,
// in which space, and what they may do there.
//
// Purpose: Main gives the main token, which may do everything, and makes it at
// first. Create makes tokens for one space and role. Check says what a secret
// allows. Commands use the same files while a daemon runs, and the daemon notices
// at the next Check.
//
// Invariants: of all but the main token only the SHA-256 is stored; a secret is
// compared with every one in constant time. Open refuses files that cannot be used
// (other users can access them, they are damaged, of another version, no files) and
// says what to do; Renew replaces a main token whatever is wrong with it. A file is
// replaced whole or not at all, and what was acknowledged is durable. If the list
// becomes unusable while a Store is open, it admits nobody and is never written
// over; the main token does not depend on it. The data folder's own lock is not
// taken.
//
// Goroutines: none. A Store is safe for concurrent use, as are several Stores and
// processes on one folder.
//
// State on disk: the files token, tokens.json and tokens.lock of the data folder;
// see FORMAT.md.
package token
