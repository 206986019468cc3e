package qabank

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/percached/percached"
)

// ID names an entry by the hash of its space and normalised question.
type ID [16]byte

// NewID is the name of the entry for this question in this space, whether or
// not there is one.
func NewID(space, question string) ID {
	sum := sha256.Sum256([]byte("entry\x00" + space + "\x00" + Normalise(question)))
	return ID(sum[:16])
}

func (id ID) String() string { return hex.EncodeToString(id[:]) }

// MarshalText writes the name in hexadecimal digits.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText writes.
func (id *ID) UnmarshalText(b []byte) error {
	if len(b) != 2*len(id) {
		return fmt.Errorf("a name has %d hexadecimal digits, not %d", 2*len(id), len(b))
	}
	_, err := hex.Decode(id[:], b)
	return err
}

// Entry is one question with what is known of its answer.
type Entry struct {
	ID       ID // set by Put
	Space    string
	Question string
	Answer   string
	Answered bool // false: prefilled only; never served
	Refused  bool // the answer says that the documents do not say
	Cut      bool // the answer ended at the limit of tokens that its settings set
	// Vector is the question's embedding and Embedder the fingerprint of what
	// made it. Without them the entry is found by exact repeats alone.
	Vector   []float32
	Embedder string
	// Evidence is every chunk that the answer was made from, most relevant first.
	Evidence []percached.Evidence
	// Sources are the chunks that the question itself came from, if nobody asked
	// it: a predicted one is made of their text. The entry goes with them as it
	// goes with its evidence.
	Sources  []percached.ChunkID
	Seen     uint64 // the space's seq when it was answered or last confirmed
	Origin   string // asked, predicted, ...
	Settings string // hash of model, prompt and retrieval settings
	Made     time.Time
	Expires  time.Time // the zero time: never
	Used     time.Time
	Hits     uint64
	Stale    bool
	StaleWhy string
	// Vetoed names the questions that this entry must never answer. It is filled
	// in when an entry is read; Put does not look at it.
	Vetoed []ID
}

// rests gives all chunks that the entry goes with, each once: its evidence and
// its sources.
func (e *Entry) rests() []percached.ChunkID {
	out := chunksOf(e.Evidence)
	for _, c := range e.Sources {
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// Candidate is an entry beside the question that found it.
type Candidate struct {
	Entry
	Similarity float64 // cosine
}

const (
	maxQuestion = 64 << 10
	maxAnswer   = 1 << 20
	maxName     = 1 << 10
	maxEvidence = 1 << 10
	maxVector   = 1 << 16
)

// check joins all that keeps an entry from being stored.
func (e *Entry) check() error {
	var errs []error
	text := func(what, s string, limit int) {
		if len(s) > limit || !utf8.ValidString(s) {
			errs = append(errs, fmt.Errorf("%s is no UTF-8 of at most %d bytes", what, limit))
		}
	}
	text("the question", e.Question, maxQuestion)
	text("the answer", e.Answer, maxAnswer)
	text("the space", e.Space, maxName)
	text("the embedder", e.Embedder, maxName)
	text("the origin", e.Origin, maxName)
	text("the settings", e.Settings, maxName)
	text("the reason for being stale", e.StaleWhy, maxName)
	if e.Space == "" {
		errs = append(errs, errors.New("no space"))
	}
	if Normalise(e.Question) == "" {
		errs = append(errs, errors.New("the question says nothing"))
	}
	if len(e.Evidence) > maxEvidence {
		errs = append(errs, fmt.Errorf("%d pieces of evidence, more than %d", len(e.Evidence), maxEvidence))
	}
	if len(e.Sources) > maxEvidence {
		errs = append(errs, fmt.Errorf("%d sources, more than %d", len(e.Sources), maxEvidence))
	}
	if len(e.Vector) > maxVector || (len(e.Vector) == 0) != (e.Embedder == "") {
		errs = append(errs, fmt.Errorf("a vector of %d values does not go with its embedder", len(e.Vector)))
	}
	for _, t := range []time.Time{e.Made, e.Expires, e.Used} {
		if !t.IsZero() && (t.Year() < 1700 || t.Year() > 2200) {
			errs = append(errs, errors.New("a time is too far away"))
		}
	}
	for _, x := range e.Vector {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			errs = append(errs, errors.New("the vector holds a value that is not finite"))
			break
		}
	}
	return errors.Join(errs...)
}
