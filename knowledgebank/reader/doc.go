// Package reader turns files into documents of the knowledge bank: mail, mail folders,
// transcripts, notes, web pages, PDF, office files and JSON.
//
// Purpose: one Reader for every format. It recognises a format by the content of a file
// first and by its name second. Of a mail it keeps what the writer wrote: it drops
// quotes, signatures and transport damage, and keeps forwarded text.
//
// To add a format:
//  1. Add a kind and a row to the table in formats.go. The row says how to recognise
//     the format and which function reads it: text for a file of text that is one
//     document, document for any other file that is one document, stream for a file of
//     many documents.
//  2. Write that function in a file named for the format. note.go has the shortest one.
//  3. Add examples to testdata/in, run "go test . -update" and check testdata/want.
//
// The files, in the order in which they come into play:
//   - folder.go finds files, reader.go reads one, limits.go bounds what it may take,
//     formats.go recognises it, encoding.go decodes bytes, text.go cleans text and joins
//     wrapped lines.
//   - Mail: mbox.go splits mailboxes; mail.go, header.go and mime.go read one mail;
//     quote.go and attribution.go separate the writer's text from quoted text;
//     signature.go drops what stands below it.
//   - Other formats: note.go (plain text), markdown.go and inline.go, html.go and
//     element.go, transcript.go, pdf.go, office.go (with zip archives), json.go and
//     messages.go. date.go finds dates. unread.go says why a file is not read.
//
// Invariants: a file or mail that cannot be read is reported with its name and a
// reason, and reading goes on with the next one; a panic of a parser is such a reason.
// Text is valid UTF-8 in composed form (NFC) and holds no control characters except \n
// and no characters of no width. Equal bytes under an equal name give an equal document:
// the reader uses no clock and no file times. Memory is at most a few times
// Options.MaxBytes, however large a mailbox is, and time grows with the number of bytes.
// Errors hold no text of a document. After the context ends, the reader begins no
// further document, part or page.
//
// Goroutines: none are started. A Reader is safe for concurrent use.
//
// State on disk: none; files are opened for reading only.
package reader
