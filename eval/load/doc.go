// Package load asks a running percached from many clients at once. It measures the rate
// and the latency of answers, and whether every client gets its share.
//
// Purpose: in Run each client asks one question after the other for a while. A client that
// percached refuses asks again when percached says so.
//
// Invariants: a client has one question in progress. Questions in progress at the end are
// waited for and counted. All failures are counted, and the first is reported as text.
//
// Goroutines: one for each client; all have ended when Run returns.
//
// State on disk: none.
package load
