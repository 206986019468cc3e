// Package reader turns files into documents of the knowledge bank: mail, mail
// folders, transcripts, notes, web pages, PDF and JSON lines.
//
// Purpose: one Reader for every kind of file. What a file is, its content says
// first and its name second. Mail is reduced to what its writer wrote: quotes,
// signatures and transport damage go, forwarded text stays.
//
// Invariants: a file or mail that cannot be read is reported by name and reason,
// and the others go on; a panic of a parser counts as such a reason. Text comes
// out as valid UTF-8 in composed form (NFC), without control characters but \n
// and without characters of no width. Equal bytes under an equal name give an
// equal document: no clock is read and no file time is used. Memory is bounded
// by a few times Options.MaxBytes, however large a mailbox is, and time grows
// with the bytes alone. Errors hold no text of a document. When the context ends,
// no further document, part or page is begun.
//
// Goroutines: none are started. A Reader is safe for concurrent use.
//
// State on disk: none; files are opened for reading only.
package reader
