package percached

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// ChunkID names a chunk by the hash of its rendered text.
type ChunkID [16]byte

// DocumentID names a document by the hash of its key.
type DocumentID [16]byte

// NewChunkID is the name of a chunk with this rendered text.
func NewChunkID(rendered string) ChunkID { return ChunkID(half("chunk\x00" + rendered)) }

// NewDocumentID is the name of the document with this key.
func NewDocumentID(key string) DocumentID { return DocumentID(half("document\x00" + key)) }

func half(s string) [16]byte {
	sum := sha256.Sum256([]byte(s))
	return [16]byte(sum[:16])
}

func (id ChunkID) String() string    { return hex.EncodeToString(id[:]) }
func (id DocumentID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText writes the name in hexadecimal digits.
func (id ChunkID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// MarshalText writes the name in hexadecimal digits.
func (id DocumentID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (id *ChunkID) UnmarshalText(b []byte) error { return unhex(id[:], b) }

// UnmarshalText reads what MarshalText writes.
func (id *DocumentID) UnmarshalText(b []byte) error { return unhex(id[:], b) }

func unhex(to, from []byte) error {
	if len(from) != 2*len(to) {
		return fmt.Errorf("a name has %d hexadecimal digits, not %d", 2*len(to), len(from))
	}
	_, err := hex.Decode(to, from)
	return err
}

// Space is one partition: one user's one knowledge base. Nothing crosses it.
type Space struct {
	Name string
	// Kind fills the slot in prompts: emails, dialog, meetings, notes.
	Kind     string
	Settings Settings
}

// Document is a source as it was taken in.
type Document struct {
	ID     DocumentID
	Key    string    // what the source itself goes by: a mail's Message-ID, a file's path
	Title  string    // subject, heading or file name
	Source string    // as chunks name it: "mail from Ana Ruiz", "meeting", "note"
	Format string    // text, markdown, html, mail, transcript, pdf, json
	Path   string    // the file it was read from, or the name of the one it was sent in
	Date   time.Time // the zero time when unknown
	Added  time.Time
	Words  int
	Chunks []ChunkID // in order
}

// Chunk is a piece of a document as it stands in prompts.
type Chunk struct {
	ID ChunkID
	// Version tells a chunk from an earlier life of the same text: it is the
	// space's count of changes when the chunk came in. It only grows.
	Version uint64
	Head    string // title, source and date in one line, as prompts show them
	Body    string // the words of the document
	// Documents that hold this chunk, oldest first.
	Documents []DocumentID
}

// Rendered is the chunk's text in a prompt.
func (c *Chunk) Rendered() string { return c.Head + "\n" + c.Body + "\n\n" }

// Evidence is a chunk that an answer was made from, at the version it had.
type Evidence struct {
	Chunk   ChunkID
	Version uint64
}

// Order is how a prompt's chunks stand.
type Order string

// The orders.
const (
	Relevance Order = "relevance" // the best first
	Canonical Order = "canonical" // always the same order of the same chunks, so that prefixes repeat
)

// Known says whether it is one of the orders.
func (o Order) Known() bool { return o == Relevance || o == Canonical }

// Prediction says what is kept of the questions that are predicted in a space.
type Prediction string

// The ways.
const (
	PredictNothing Prediction = "off"
	PredictAnswers Prediction = "answers" // their answers are kept, not their tensors
	PredictBoth    Prediction = "both"
)

// Known says whether it is one of the ways.
func (p Prediction) Known() bool {
	return p == PredictNothing || p == PredictAnswers || p == PredictBoth
}

// Settings are what a space wants otherwise than the service; nil is the
// service's own.
type Settings struct {
	Threshold *float64   `json:"threshold,omitempty"`
	Guard     *bool      `json:"guard,omitempty"`
	Bank      *bool      `json:"bank,omitempty"`
	Tensors   *bool      `json:"tensors,omitempty"`
	K         *int       `json:"k,omitempty"`
	Order     *Order     `json:"order,omitempty"`
	Placement *Placement `json:"placement,omitempty"`
	Planes    *Planes    `json:"planes,omitempty"`
	// Whole makes tokens of the instructions and all chunks as one text, and not of
	// each on its own: then there are no slices, and no branches.
	Whole *bool `json:"whole,omitempty"`
	// TensorLimit is how many bytes of the service's the space's tensors may take.
	TensorLimit *int64 `json:"tensor_limit,omitempty"`

	// Of idle work.
	Prediction *Prediction `json:"prediction,omitempty"`
	Stride     *int        `json:"stride,omitempty"`     // questions predicted at a time
	Adaptive   *bool       `json:"adaptive,omitempty"`   // the threshold decides whether predicted questions are answered or prefilled only
	Conversion *bool       `json:"conversion,omitempty"` // tensors become answers, and answers tensors, as threshold and room change
}
