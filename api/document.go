package api

import (
	"errors"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/percached/percached"
)

// Document is a source as it was taken in.
type Document struct {
	ID     percached.DocumentID `json:"id"`
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
	Total     int        `json:"total"` // in the space, whatever is looked for
	// Next is the cursor of the next page; empty: this is the last.
	Next string `json:"next,omitempty"`
}

// DocumentText is a document with its text.
type DocumentText struct {
	Document
	Text []ChunkText `json:"text"`
}

// ChunkText is a chunk as it stands in prompts.
type ChunkText struct {
	Chunk percached.ChunkID `json:"chunk"`
	About string            `json:"about"` // title, source and date
	Body  string            `json:"body"`
}

// Page asks for a part of a list.
type Page struct {
	InSpace
	Limit int    `query:"limit"` // 1 to 1000; default 100
	After string `query:"after"` // Next of the page before
}

// DocumentPage asks for a part of a space's documents.
type DocumentPage struct {
	Page
	Find Words `query:"find"` // what title or source holds; empty: all
}

// Words are looked for in names. What stands around them does not count, nor does
// how accents are written.
type Words string

// UnmarshalText refuses nothing at all to look for.
func (w *Words) UnmarshalText(text []byte) error {
	*w = Words(norm.NFC.String(strings.TrimSpace(string(text))))
	if n := utf8.RuneCountInString(string(*w)); n < 1 || n > 200 {
		return errors.New("it has 1 to 200 characters")
	}
	return nil
}

// OneDocument names a document.
type OneDocument struct {
	InSpace
	Document percached.DocumentID `path:"document"`
}

// Upload is what is to be taken in. Each calls take with one file after the
// other, as they come off the wire; the documents of a JSON body come as one file
// of JSON lines. Reading that parses it, for which a whole document is in memory: so
// its body also has the methods Sent, which is the body unparsed, and Parse, to call
// with it when it was read. Key is the idempotency key, or empty: the same key with the same
// files is the same upload, with others a Conflict. With Wait the upload is
// answered when all is in; what was sent is taken in although the client goes.
// Each is called once, and its error ends the upload: the body was wrong or broke
// off, or take failed. Then nothing of it may be left behind, the files before
// included.
type Upload struct {
	Space string
	Key   string
	Wait  bool
	Each  func(take func(name string, body io.Reader) error) error
}

// UploadState says how far an upload is.
type UploadState string

// The states of an upload.
const (
	UploadQueued  UploadState = "queued"
	UploadRunning UploadState = "running"
	UploadDone    UploadState = "done"
	UploadFailed  UploadState = "failed"
)

// UploadStatus is an upload as it stands. What was acknowledged is taken in,
// whatever happens to the daemon.
type UploadStatus struct {
	ID        string      `json:"id"`
	Space     string      `json:"space"`
	State     UploadState `json:"state"`
	Accepted  time.Time   `json:"accepted"`
	Ended     time.Time   `json:"ended,omitzero"`
	Files     int         `json:"files"`
	Bytes     int64       `json:"bytes"`
	Read      int64       `json:"read_bytes"` // of them, so far
	Added     int         `json:"added"`
	Unchanged int         `json:"unchanged"`
	Replaced  int         `json:"replaced"`
	Failed    int         `json:"failed"`
	Chunks    int         `json:"chunks"` // that are new
	Failures  []Failure   `json:"failures"`
	LeftOut   []Failure   `json:"left_out"` // parts of documents
	// Error says why the upload failed as a whole.
	Error string `json:"error,omitempty"`
}

// Failure is something that could not be taken in.
type Failure struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// Uploads lists uploads, the latest first.
type Uploads struct {
	Uploads []UploadStatus `json:"uploads"`
}

// OneUpload names an upload.
type OneUpload struct {
	InSpace
	Upload string `path:"upload"`
}
