// Package pdf takes the text out of PDF files.
//
// Purpose: [Files.Read] gives a file's words page by page, joined to paragraphs,
// and what the file says it is called. Written from ISO 32000 for people's
// own documents: letters, papers, invoices, printed mail, from whatever
// program, old or damaged.
//
// From the file's end to the words: xref.go finds where the objects lie, or
// rebuild.go does when the file does not say so rightly; file.go loads objects
// (lexer.go, parse.go), decrypts them (crypt.go) and decodes their streams
// (filter.go, predict.go); pages.go walks the tree of pages; content.go and
// show.go run a page's program for its text alone. font.go says which
// characters were shown and how wide, going by ToUnicode and other CMaps
// (cmap.go, predefined.go), encodings and glyph names (encoding.go,
// glyphname.go), or the embedded font itself (type1.go, cff.go, truetype.go).
// layout.go makes lines of the characters by where they stand, in the order in
// which they were drawn; rtl.go turns what runs to the left; paragraph.go makes
// paragraphs of the lines.
//
// Invariants: no input makes it panic, run without end or take memory beyond
// the limits of [Options]: one budget counts decoded bytes, parsed values and
// steps of the page's programs, of all files that come together, and what nests is held to a depth. What is
// damaged is passed over and the rest is read on. Paragraphs are valid UTF-8 in
// Unicode's normal form C, without control characters, and never empty. Errors
// are faults and carry no text of the document.
//
// Not read: pictures of text; fonts that do not say what their characters are;
// CID fonts of Adobe's Asian collections that have neither ToUnicode nor a
// character set's encoding; XFA forms, attachments, popup notes. What hidden
// layers and a crop box hide is read.
//
// Goroutines: none.
//
// State on disk: none.
package pdf
