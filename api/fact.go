package api

import (
	"time"

	"github.com/percached/percached"
)

// Fact is a fact about the user. It is also a document of the space.
type Fact struct {
	ID    percached.DocumentID `json:"id"`   // of its document
	Text  string               `json:"text"` // a sentence that states it
	Who   string               `json:"who,omitempty"`
	What  string               `json:"what"`
	Value string               `json:"value"`
	Since string               `json:"since,omitempty"` // a day, such as 2026-03-04
	Until string               `json:"until,omitempty"`
	Said  string               `json:"said"`
	Heard bool                 `json:"heard"` // said in a question, not entered as a fact
	Added time.Time            `json:"added"`
}

// Facts lists facts, the latest first.
type Facts struct {
	Facts []Fact `json:"facts"`
}

// AddFactRequest adds facts to a space.
type AddFactRequest struct {
	InSpace
	NewFact
}

// NewFact is a statement, or one fact by its parts.
type NewFact struct {
	Text  string `json:"text"`
	Who   string `json:"who"`
	What  string `json:"what"`
	Value string `json:"value"`
	Since string `json:"since"`
	Until string `json:"until"`
}

// ChangeFactRequest changes a fact.
type ChangeFactRequest struct {
	OneDocument
	FactChange
}

// FactChange changes parts of a fact; an absent part stays. An empty day removes it.
type FactChange struct {
	Value *string `json:"value"`
	Since *string `json:"since"`
	Until *string `json:"until"`
}

// Memory says how a question used the facts of its space.
type Memory struct {
	Facts  int    `json:"facts"` // of the space
	Needed bool   `json:"needed"`
	Why    string `json:"why"`
}
