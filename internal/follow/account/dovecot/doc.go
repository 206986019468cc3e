// Package dovecot runs a real mail server for tests.
//
// Purpose: Start runs Debian's dovecot for one user, without privileges, in a temporary folder
// with a certificate of its own. Tests that need it are skipped where it is not installed, or
// fail if CI is set.
//
// Goroutines: none. The server is a process that ends with the test.
//
// State on disk: the temporary folder of the test, with a Maildir.
package dovecot
