package persona

import (
	"time"

	"github.com/percached/percached/knowledgebank"
)

// Kind is the kind of an event.
type Kind string

// The kinds of event.
const (
	Arrives Kind = "arrives"   // a document, new or replacing the one with its key
	Deleted Kind = "deleted"   // a document
	Asked   Kind = "asked"     // a question
	Posted  Kind = "device"    // the phone reports its state
	Limited Kind = "limit"     // the limit of tensors changes
	Tuned   Kind = "threshold" // the threshold changes
)

// Event is one event. Only the fields of its kind are set.
type Event struct {
	At        time.Time
	Kind      Kind
	Source    *knowledgebank.Source // Arrives; read-only
	Key       string                // Arrives, Deleted: key of the document
	Question  string                // Asked
	Expect    Expect                // Asked
	Device    Device                // Posted
	Limit     int64                 // Limited: bytes
	Threshold float64               // Tuned
}

// Device is the state of a phone.
type Device struct {
	Charging    bool
	Battery     float64 // level (0-1)
	Temperature float64 // °C
}

// Relation is the relation of a question to earlier ones.
type Relation string

// The relations.
const (
	First      Relation = "first"      // not asked before
	Repeat     Relation = "repeat"     // the words of an earlier question
	Paraphrase Relation = "paraphrase" // an earlier question in other words
	Near       Relation = "near"       // an earlier question with another name or day
	Foreign    Relation = "foreign"    // not answered by any document
	Odd        Relation = "odd"        // answered by documents, but unpredictable and never repeated
)

// Relations lists them all.
func Relations() []Relation {
	return []Relation{First, Repeat, Paraphrase, Near, Foreign, Odd}
}

// Expect is the expected answer of a question.
type Expect struct {
	Relation Relation
	// Of is the related earlier question.
	Of string
	// Document is the key of the document that answers it, or empty.
	Document string
	// Answer is contained in every right answer, or empty.
	Answer string
	// Never has answers of changed or deleted documents, which the answer must not contain.
	Never []string
}
