// Command go is an example of an app in Go that uses percached.
//
// Purpose: it calls a daemon with package api/client, and `make clients` runs it. PERCACHED_URL
// is the daemon's address, PERCACHED_TOKEN a token of it.
//
// Invariants: it deletes what it made. Goroutines: those of net/http. State on disk: none.
package main
