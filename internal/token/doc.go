// Package token manages the tokens of a data folder: who may call the daemon, in which space,
// and with which role.
//
// Purpose: Main returns the main token, which allows everything, and creates it on the first
// call. Create makes a token for a space and a role. Check returns the token of a secret.
// Commands use the same files while a daemon runs; the daemon sees the change at the next
// Check.
//
// Invariants: of all tokens but the main one, only the SHA-256 is stored. A secret is compared
// with every token in constant time. Open refuses unusable token files (accessible by other
// users, damaged, of another version, not regular files) and says what to do. Renew replaces a
// main token in any state. A file is replaced completely or not at all, and an acknowledged
// change is durable. If the list becomes unusable while a Store is open, its tokens are
// rejected and the list is not overwritten; the main token still works. The package does not
// take the data folder's lock.
//
// Goroutines: none. A Store is safe for concurrent use, also by several Stores and processes on
// one folder.
//
// State on disk: the files token, tokens.json and tokens.lock of the data folder; see
// FORMAT.md.
package token
