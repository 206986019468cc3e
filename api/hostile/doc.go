// Package hostile lists bad requests for tests: what hostile or broken clients send, with the
// expected responses.
//
// Purpose: the tests of package api and of the whole daemon send the same requests.
//
// Invariants: each request is wrong in one way. The server must answer correct requests after
// it.
//
// Goroutines: none.
//
// State on disk: none.
package hostile
