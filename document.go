package percached

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// ChunkID identifies a chunk: the hash of its rendered text.
type ChunkID [16]byte

// DocumentID identifies a document: the hash of its key.
type DocumentID [16]byte

// NewChunkID is the ID of a chunk with this rendered text.
func NewChunkID(rendered string) ChunkID { return ChunkID(half("chunk\x00" + rendered)) }

// NewDocumentID is the ID of the document with this key.
func NewDocumentID(key string) DocumentID { return DocumentID(half("document\x00" + key)) }

func half(s string) [16]byte {
	sum := sha256.Sum256([]byte(s))
	return [16]byte(sum[:16])
}

func (id ChunkID) String() string    { return hex.EncodeToString(id[:]) }
func (id DocumentID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText returns the ID in hexadecimal digits.
func (id ChunkID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// MarshalText returns the ID in hexadecimal digits.
func (id DocumentID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText parses the output of MarshalText.
func (id *ChunkID) UnmarshalText(b []byte) error { return unhex(id[:], b) }

// UnmarshalText parses the output of MarshalText.
func (id *DocumentID) UnmarshalText(b []byte) error { return unhex(id[:], b) }

func unhex(to, from []byte) error {
	if len(from) != 2*len(to) {
		return fmt.Errorf("a name has %d hexadecimal digits, not %d", 2*len(to), len(from))
	}
	_, err := hex.Decode(to, from)
	return err
}

// Space is one partition: one user's one knowledge base. Spaces share no data.
type Space struct {
	Name string
	// the {kind} of prompts: emails, dialog, meetings, notes
	Kind     string
	Settings Settings
}

// Document is an ingested source.
type Document struct {
	ID     DocumentID
	Key    string    // the source's own name: a mail's Message-ID, a file's path
	Title  string    // subject, heading or file name
	Source string    // as chunks show it: "mail from Ana Ruiz", "meeting", "note"
	Format string    // text, markdown, html, mail, transcript, pdf, docx, odt, rtf, xlsx, ods, pptx, odp, epub, json
	Path   string    // the file it was read from or sent in
	Date   time.Time // the zero time if unknown
	Added  time.Time
	Words  int
	Chunks []ChunkID // in order
}

// Chunk is a piece of a document as prompts show it.
type Chunk struct {
	ID ChunkID
	// Version distinguishes a chunk from an earlier one with the same text: it is the
	// space's count of changes when the chunk was added. It only grows.
	Version uint64
	Head    string // title, source and date in one line, as prompts show them
	Body    string // the words of the document
	// Documents that contain this chunk, oldest first.
	Documents []DocumentID
}

// Rendered is the chunk's text in a prompt.
func (c *Chunk) Rendered() string { return c.Head + "\n" + c.Body + "\n\n" }

// Evidence is a chunk in the prompt of an answer, with its version then.
type Evidence struct {
	Chunk   ChunkID
	Version uint64
}

// Order is the order of the chunks in a prompt.
type Order string

// The orders.
const (
	Relevance Order = "relevance" // best first
	Canonical Order = "canonical" // the same order for the same chunks, so that prefixes repeat
)

// Known reports whether this is one of the orders.
func (o Order) Known() bool { return o == Relevance || o == Canonical }

// Prediction is what a space keeps of predicted questions.
type Prediction string

// The ways.
const (
	PredictNothing Prediction = "off"
	PredictAnswers Prediction = "answers" // keep their answers, but not their tensors
	PredictBoth    Prediction = "both"
)

// Known reports whether this is one of the values.
func (p Prediction) Known() bool {
	return p == PredictNothing || p == PredictAnswers || p == PredictBoth
}

// Settings are a space's overrides of the service's settings; nil means no override.
type Settings struct {
	Threshold *float64   `json:"threshold,omitempty"`
	Guard     *bool      `json:"guard,omitempty"`
	MaxWrong  *float64   `json:"max_wrong,omitempty"` // highest share of wrong answers among those served for a question in other words
	Bank      *bool      `json:"bank,omitempty"`
	Tensors   *bool      `json:"tensors,omitempty"`
	Drafts    *bool      `json:"drafts,omitempty"` // check tokens of stored answers and of the prompt in batches
	K         *int       `json:"k,omitempty"`
	Order     *Order     `json:"order,omitempty"`
	Placement *Placement `json:"placement,omitempty"`
	Planes    *Planes    `json:"planes,omitempty"`
	// Whole tokenises the instructions and all chunks as one text. There are then no
	// slices and no branches.
	Whole *bool `json:"whole,omitempty"`
	// TensorLimit is the maximum size of the space's tensors in bytes, within the
	// service's limit.
	TensorLimit *int64 `json:"tensor_limit,omitempty"`

	// KeepDays is after how many days questions and answers that nobody used since are
	// deleted; 0: never.
	KeepDays *int `json:"keep_days,omitempty"`

	// ReadOnly refuses changes, while the space moves to another node. MovedTo is the base URL
	// of the node that holds the space now: requests for it are redirected there.
	ReadOnly *bool   `json:"read_only,omitempty"`
	MovedTo  *string `json:"moved_to,omitempty"`
	// CopyOf is the address of the node of which this space is a copy. Only updates of the copy
	// change its documents.
	CopyOf *string `json:"copy_of,omitempty"`

	// Idle work.
	Prediction *Prediction `json:"prediction,omitempty"`
	Stride     *int        `json:"stride,omitempty"`     // questions predicted in one round
	Adaptive   *bool       `json:"adaptive,omitempty"`   // the threshold decides whether predicted questions are answered or only prefilled
	Conversion *bool       `json:"conversion,omitempty"` // convert tensors to answers and back as threshold and free space change
}
