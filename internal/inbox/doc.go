// Package inbox keeps uploads that were accepted until they are taken in.
//
// Purpose: Accept writes what a client sends to the disk and gives it an ID; Run
// takes the uploads in, through the library: of a space one after the other, of
// several spaces at the same time. So a client that was told "accepted" may go, and
// the process may be killed: the upload is taken in after the next start.
//
// Invariants: an upload is acknowledged when its files and its record are
// durable, and not before; what was not acknowledged leaves nothing, at the
// latest when the folder is opened next. An upload that was begun is begun again
// after a crash, until it has ended: taking a document in twice does nothing. It
// fails when the process ended in three attempts otherwise than it should.
// Uploads of one space are taken in as they were accepted; one that has to wait,
// or takes long, holds up no other space. What large documents take of the memory
// while they are parsed and taken in keeps within Options.Memory. One key stands for
// one content. A document that was forgotten does not come out of an upload accepted
// before (Withhold). Names that clients send are never names of files. What is told
// of an upload holds names of documents, no text of them, and goes with Forget.
//
// Goroutines: Run has one for each space whose upload is being taken in, which end
// before it returns. All methods are safe for concurrent use.
//
// State on disk: the folder given to Open, of which one process uses one Inbox at
// a time; see FORMAT.md.
package inbox
