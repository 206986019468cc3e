// Package office reads files of word processors, spreadsheets and presentations, and
// e-books: docx, odt, rtf, xlsx, ods, pptx, odp, epub.
//
// Purpose: [Files.Read] returns a file's text as people see it in the program that they
// write it with: without tracked deletions, hidden text and formulas, with the numbers of
// clauses, the formatted values of cells, footnotes, comments and speaker notes. A row of a
// table becomes a line "header: value", so that a few rows make sense alone.
//
// The files:
//   - office.go recognises a file and bounds what reading it costs; unread.go says why
//     other files of office programs are not read.
//   - archive.go opens the zip archive around the XML, scan.go reads one XML file, and
//     meta.go the title, author and date.
//   - word.go, style.go and number.go read docx; sheet.go and value.go xlsx; slides.go
//     pptx; odf.go, odfcell.go and odfstyle.go the formats of OpenDocument; book.go epub;
//     rtf.go, rtfword.go and rtftext.go RTF. table.go makes lines of rows.
//
// Invariants: no input makes it panic, run without end or exceed the limits of [Options].
// One budget counts unpacked bytes and text, for all files of one Files; nesting has a
// greatest depth. Entities of a document type are never expanded. Names in an archive are
// only looked up in it. A damaged file is read up to the damage. Errors hold no text of
// the document.
//
// Goroutines: none.
//
// State on disk: none.
package office
