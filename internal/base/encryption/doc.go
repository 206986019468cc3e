// Package encryption has the key of an encrypted data folder, and encrypts plain files with it.
//
// Purpose: New makes a data key and the text of a key file, in which a secret wraps the data
// key. Open reads that text with the secret. A Source finds the secret: in a file, among
// systemd's credentials, or at the terminal. Derive gives each use of the data key a key of its
// own. Writer and File encrypt and decrypt one file.
//
// Invariants: the data key never changes; Wrap replaces the secret alone. Open distinguishes a
// wrong secret from a damaged key file. A file that was cut, reordered, extended or changed is not
// read: the error is ErrDamaged. No nonce is used twice, because each file has a key of its own.
//
// Goroutines: none.
//
// State on disk: FORMAT.md.
package encryption
