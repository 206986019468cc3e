package knowledgebank

import "time"

// Source is one document as a reader found it, before it is cut into chunks.
type Source struct {
	Key    string    // what the source itself goes by: a mail's Message-ID, a file's path
	Title  string    // subject, heading or file name
	Source string    // as chunks name it: "mail from Ana Ruiz", "meeting", "note"
	Format string    // text, markdown, html, mail, transcript, pdf, json
	Path   string    // the file it was read from; empty if it came otherwise
	File   string    // the name of the file it was sent in; unlike a path it stands in for no title
	Date   time.Time // the zero time when unknown
	Blocks []Block   // in order
	// Notes say what could not be taken: "attachment photo.jpg (image/jpeg) not
	// read". They are for whoever reads the source, and are not stored.
	Notes []string
}

// Block is a paragraph, a heading, or one speaker's turn.
type Block struct {
	Speaker string // of a transcript; empty otherwise
	At      string // of a transcript: "00:12:31"
	Text    string // valid UTF-8 without control characters but \n
}
