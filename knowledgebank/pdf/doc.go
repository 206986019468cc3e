// Package pdf reads the text of PDF files.
//
// Purpose: [Files.Read] returns a file's text page by page, joined to paragraphs, and
// the file's title. It is written from ISO 32000 for people's own documents: letters,
// papers, invoices, printed mail, made by any program, old or damaged. Other readers were
// measured against it: see docs/measurements.md.
//
// From the end of the file to its words:
//   - xref.go finds the objects, by the cross-reference table or by a search if that is
//     damaged; file.go loads objects (syntax.go), decrypts them (crypt.go) and decodes
//     their streams (filter.go).
//   - pages.go walks the tree of pages; content.go and show.go run a page's program and
//     keep its text.
//   - font.go knows which characters were shown and how wide they are: from ToUnicode and
//     other CMaps (cmap.go), encodings and glyph names (encoding.go), or the embedded font
//     (fontfile.go).
//   - layout.go makes lines of characters by their places, in drawing order; paragraph.go
//     makes paragraphs of lines.
//
// Invariants: no input makes it panic, run without end or exceed the limits of
// [Options]. One budget counts decoded bytes, parsed values and steps of the page
// programs, for all files of one Files; nesting has a greatest depth. It skips damaged
// parts and reads the rest. Paragraphs are valid UTF-8 in Unicode's normal form C,
// without control characters, and never empty. Errors hold no text of the document.
//
// Not read: pictures of text; fonts that do not identify their characters; CID fonts of
// Adobe's Asian collections with neither ToUnicode nor a character set's encoding; XFA
// forms, attachments, popup notes. Text in hidden layers and outside a crop box is read.
//
// Goroutines: none.
//
// State on disk: none.
package pdf
