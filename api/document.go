package api

import (
	"cmp"
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/percached/percached"
)

// Document is a stored source.
type Document struct {
	ID     percached.DocumentID `json:"id"`
	Key    string               `json:"key"` // the source's own name
	Title  string               `json:"title"`
	Source string               `json:"source"`
	Format string               `json:"format"`
	Date   time.Time            `json:"date,omitzero"`
	Path   string               `json:"path,omitempty"`
	Added  time.Time            `json:"added"`
	Words  int                  `json:"words"`
	Chunks int                  `json:"chunks"`
}

// Documents is a page of documents.
type Documents struct {
	Documents []Document `json:"documents"`
	Total     int        `json:"total"` // documents in the space, with or without find
	// Next is the cursor of the next page. It is empty on the last page.
	Next string `json:"next,omitempty"`
}

// DocumentText is a document with its chunks.
type DocumentText struct {
	Document
	Text []ChunkText `json:"text"`
}

// ChunkText is a chunk as prompts contain it.
type ChunkText struct {
	Chunk percached.ChunkID `json:"chunk"`
	About string            `json:"about"` // title, source and date
	Body  string            `json:"body"`
}

// Page asks for one page of a list.
type Page struct {
	InSpace
	Limit int    `query:"limit"` // 1 to 1000; default 100
	After string `query:"after"` // Next of the previous page
}

// DocumentPage asks for one page of a space's documents.
type DocumentPage struct {
	Page
	Find   Words  `query:"find"`   // part of the title or source; empty: all documents
	Source Words  `query:"source"` // part of the source, such as the sender of a mail
	Format Given  `query:"format"`
	Since  Moment `query:"since"` // of the earliest date
	Until  Moment `query:"until"` // of the latest date
}

// Moment is a time, or a whole day in the zone of what it is compared with.
type Moment struct {
	at  time.Time
	day string
}

// UnmarshalText parses a time or a day.
func (m *Moment) UnmarshalText(text []byte) (err error) {
	if m.at, err = time.Parse(time.RFC3339, string(text)); err == nil {
		return nil
	}
	m.day = string(text)
	_, err = time.Parse(time.DateOnly, m.day)
	return err
}

// IsZero says that no moment was given.
func (m Moment) IsZero() bool { return m == Moment{} }

// Compare returns -1, 0 or 1 if m is before, at or after t; a day is at all its times.
func (m Moment) Compare(t time.Time) int {
	if m.day != "" {
		return cmp.Compare(m.day, t.Format(time.DateOnly))
	}
	return m.at.Compare(t)
}

// Words is a search text, trimmed and in Unicode form NFC.
type Words string

// UnmarshalText refuses a text that is blank or longer than 200 characters.
func (w *Words) UnmarshalText(text []byte) error {
	*w = Words(norm.NFC.String(strings.TrimSpace(string(text))))
	if n := utf8.RuneCountInString(string(*w)); n < 1 || n > 200 {
		return errors.New("must have 1 to 200 characters")
	}
	return nil
}

// PassageSearch finds passages of documents near a text.
type PassageSearch struct {
	InSpace
	Query Words `query:"q"`
	Limit int   `query:"limit"` // 1 to 50; default 10
}

// Passages are parts of documents, best first.
type Passages struct {
	Passages []Citation `json:"passages"`
}

// OneDocument names a document.
type OneDocument struct {
	InSpace
	Document percached.DocumentID `path:"document"`
}

// Upload is a set of files to add to a space.
//
// Each calls take with one file after the other while the client sends them. Each is called
// once. If it returns an error, the body was wrong or broke off, or take failed; the backend
// then keeps nothing of the upload.
//
// The documents of a JSON body arrive as one file of JSON lines. Reading that file parses the
// body, which holds one document in memory. To store the body unparsed, the reader has the
// methods Sent (the raw body) and Parse (its lines, from the stored body).
//
// Key is the idempotency key, or empty. The same key with the same files is the same upload;
// with other files it is a Conflict. With Wait, the upload is answered when it is complete. A
// file that was sent is added even if the client disconnects.
type Upload struct {
	Space string
	Key   string
	Wait  bool
	Again bool // add documents that the user deleted before
	Each  func(take func(name string, body io.Reader) error) error
	// Accepted is called once the upload is stored and will go on without its client. It may be nil.
	Accepted func(UploadStatus)
}

// SpaceName returns the name of the space.
func (u Upload) SpaceName() string { return u.Space }

// UploadState is the state of an upload.
type UploadState string

// The states of an upload.
const (
	UploadQueued  UploadState = "queued"
	UploadRunning UploadState = "running"
	UploadDone    UploadState = "done"
	UploadFailed  UploadState = "failed"
)

// UploadStatus is the progress of an upload. An acknowledged upload survives a crash of the
// daemon.
type UploadStatus struct {
	ID        string      `json:"id"`
	Space     string      `json:"space"`
	State     UploadState `json:"state"`
	Accepted  time.Time   `json:"accepted"`
	Ended     time.Time   `json:"ended,omitzero"`
	Files     int         `json:"files"`
	Bytes     int64       `json:"bytes"`
	Read      int64       `json:"read_bytes"` // bytes processed so far
	Added     int         `json:"added"`
	Unchanged int         `json:"unchanged"`
	Replaced  int         `json:"replaced"`
	Failed    int         `json:"failed"`
	// DeletedBefore counts documents that were left out, because the user deleted them.
	DeletedBefore int       `json:"deleted_before"`
	Chunks        int       `json:"chunks"` // new chunks
	Failures      []Failure `json:"failures"`
	LeftOut       []Failure `json:"left_out"` // skipped parts of documents, and deleted documents
	// Error says why the whole upload failed.
	Error string `json:"error,omitempty"`
}

// Failure names a file or a document that could not be added.
type Failure struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Uploads lists uploads, the latest first.
type Uploads struct {
	Uploads []UploadStatus `json:"uploads"`
	Next    string         `json:"next,omitempty"`
}

// OneUpload names an upload.
type OneUpload struct {
	InSpace
	Upload string `path:"upload"`
}
