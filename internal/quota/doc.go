// Package quota counts what each token uses, and refuses what is above its limits.
//
// Purpose: Take books a request, a question or bytes of an upload, or says which limit is
// reached and for how long.
//
// Invariants: counts of a day end at midnight UTC. Requests per minute are spread: a token that
// was silent may send a minute's requests at once, then one each time that one is due. Take
// books all of n or nothing.
//
// Goroutines: none. A Counter is safe for concurrent use.
//
// State on disk: quotas.json in the data folder, with the counts of the day by token ID. Save
// writes it; a crash loses the counts since the last Save. A file that cannot be read counts as
// empty.
package quota
