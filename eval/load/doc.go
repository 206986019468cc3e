// Package load asks a running percached from many clients at once, and measures
// how many answers come, how fast, and whether every client gets its share.
//
// Purpose: Run has each client ask one question after the other, for a while. A
// client that is told to come back later does so when it was told.
//
// Invariants: a client has one question under way. What was under way when the
// time is over is waited for and counted. Only the first failure is told in words;
// all are counted.
//
// Goroutines: one for each client; all have ended when Run returns.
//
// State on disk: none.
package load
