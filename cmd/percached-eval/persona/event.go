package persona

import (
	"time"

	"github.com/percached/percached/knowledgebank"
)

// Kind says what happens.
type Kind string

// The kinds of event.
const (
	Arrives Kind = "arrives"   // a document, new or in place of what has its key
	Deleted Kind = "deleted"   // a document
	Asked   Kind = "asked"     // a question
	Posted  Kind = "device"    // the phone says how it is
	Limited Kind = "limit"     // the tensor tree may be so large from now on
	Tuned   Kind = "threshold" // stored answers must be so similar from now on
)

// Event is one thing that happens. Only the fields of its kind are set.
type Event struct {
	At        time.Time
	Kind      Kind
	Source    *knowledgebank.Source // Arrives; not to be changed
	Key       string                // Arrives, Deleted: what the document goes by
	Question  string                // Asked
	Expect    Expect                // Asked
	Device    Device                // Posted
	Limit     int64                 // Limited: bytes
	Threshold float64               // Tuned
}

// Device is what a phone says of itself.
type Device struct {
	Charging    bool
	Battery     float64 // of full
	Temperature float64 // °C
}

// Relation is how a question stands to those asked before it.
type Relation string

// The relations.
const (
	First      Relation = "first"      // nobody asked for this yet
	Repeat     Relation = "repeat"     // the words of an earlier question
	Paraphrase Relation = "paraphrase" // an earlier question in other words
	Near       Relation = "near"       // the words of an earlier question but for a name or a day
	Foreign    Relation = "foreign"    // of what no document speaks
	Odd        Relation = "odd"        // of what documents speak, but as nobody would ask twice or guess
)

// Relations lists them all.
func Relations() []Relation {
	return []Relation{First, Repeat, Paraphrase, Near, Foreign, Odd}
}

// Expect is what is known of a question when it is asked.
type Expect struct {
	Relation Relation
	// Of is the earlier question that it is related to.
	Of string
	// Document is the key of the one that answers it; empty when none does.
	Document string
	// Answer stands in every right answer; empty when there is none.
	Answer string
	// Never are answers of documents that changed or went: none of them may
	// stand in the answer.
	Never []string
}
