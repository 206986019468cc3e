package api

import (
	"strconv"
	"strings"
	"time"
)

// Conversation is a stored conversation.
type Conversation struct {
	ID           string    `json:"id"`
	Title        string    `json:"title"`
	Instructions string    `json:"instructions,omitempty"`
	Created      time.Time `json:"created"`
	Used         time.Time `json:"used"`
	Count        uint64    `json:"count"`             // turns said so far
	Summary      string    `json:"summary,omitempty"` // of the turns that no longer fit into a prompt
	// Turns are the latest, oldest first. A list of conversations has none.
	Turns []SaidTurn `json:"turns,omitempty"`
	Next  string     `json:"next,omitempty"` // of the earlier turns
}

// SaidTurn is a message of a stored conversation.
type SaidTurn struct {
	Number uint64    `json:"number"`
	Role   string    `json:"role"` // user or assistant
	Text   string    `json:"text"`
	At     time.Time `json:"at"`
}

// Conversations lists conversations, the latest used first.
type Conversations struct {
	Conversations []Conversation `json:"conversations"`
	Next          string         `json:"next,omitempty"`
}

// NewConversation is a conversation to create.
type NewConversation struct {
	InSpace
	NewConversationBody
}

// NewConversationBody is the body of a request to create a conversation.
type NewConversationBody struct {
	Title        string `json:"title"`
	Instructions string `json:"instructions"`
}

// OneConversation names a conversation.
type OneConversation struct {
	InSpace
	Conversation string `path:"conversation"`
}

// TurnsPage asks for a conversation with one page of its turns, the latest first.
type TurnsPage struct {
	OneConversation
	Limit int    `query:"limit"` // 1 to 1000; default 100
	After string `query:"after"` // Next of the previous page
}

func (in *TurnsPage) defaults()    { in.Limit = 100 }
func (in *TurnsPage) check() error { return limit(in.Limit, 1000) }

// NewTurns are turns to add to a conversation.
type NewTurns struct {
	OneConversation
	NewTurnsBody
}

// NewTurnsBody is the body of a request to add turns.
type NewTurnsBody struct {
	Turns []NewTurn `json:"turns"`
}

// NewTurn is a message that was said elsewhere.
type NewTurn struct {
	Role string `json:"role"` // user or assistant
	Text string `json:"text"`
}

func (in *NewTurns) check() error {
	if len(in.Turns) < 1 || len(in.Turns) > 1000 {
		return invalidField("/turns", "must have 1 to 1000 turns")
	}
	for i, t := range in.Turns {
		if strings.TrimSpace(t.Text) == "" {
			return invalidField("/turns/"+strconv.Itoa(i)+"/text", "must not be empty")
		}
	}
	return nil
}
