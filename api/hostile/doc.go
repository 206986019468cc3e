// Package hostile holds bad requests, for tests: what hostile or broken clients
// send, each with the answer that it has to get.
//
// Purpose: the same requests go to the interface alone and to the whole daemon.
//
// Invariants: each request is wrong in one way; right requests behind it are
// answered well.
//
// Goroutines: none.
//
// State on disk: none.
package hostile
