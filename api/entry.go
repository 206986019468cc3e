package api

import (
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/percached/percached"
)

// Entry is a record of the QA bank.
type Entry struct {
	ID       string     `json:"id"`
	Question string     `json:"question"`
	Answer   string     `json:"answer"`
	Answered bool       `json:"answered"` // false: the prompt is prefilled, the answer is not generated
	Refused  bool       `json:"refused"`
	Cut      bool       `json:"cut,omitempty"` // the answer ended at the token limit
	Stale    bool       `json:"stale"`
	Changed  bool       `json:"changed,omitempty"` // idle work changed the answer since it was last given
	StaleWhy string     `json:"stale_why,omitempty"`
	Origin   string     `json:"origin"`                 // asked or predicted
	Under    string     `json:"instructions,omitempty"` // names the client's instructions
	Evidence []Evidence `json:"evidence"`
	Hits     uint64     `json:"hits"`
	Made     time.Time  `json:"made"`
	Used     time.Time  `json:"used,omitzero"`
	Expires  time.Time  `json:"expires,omitzero"`
	// Similarity to the search text.
	Similarity *float64 `json:"similarity,omitempty"`
}

// Evidence is a chunk in the prompt of an answer.
type Evidence struct {
	Chunk   percached.ChunkID `json:"chunk"`
	Version uint64            `json:"version"`
}

// Entries is a page of entries.
type Entries struct {
	Entries []Entry `json:"entries"`
	Next    string  `json:"next,omitempty"`
	Bank    *Bank   `json:"bank,omitempty"` // counts of the whole space
}

// Bank counts the QA bank's entries of a space.
type Bank struct {
	Entries  int    `json:"entries"`
	Answered int    `json:"answered"`
	Stale    int    `json:"stale"`
	Vetoes   int    `json:"vetoes"`
	Hits     uint64 `json:"hits"`
	Bytes    int64  `json:"bytes"`
}

// EntryPage asks for one page of a space's entries.
type EntryPage struct {
	Page
	Changed bool `query:"changed"` // only those
}

// EntrySearch finds stored questions similar to a text.
type EntrySearch struct {
	InSpace
	Query string `query:"q"`
	Limit int    `query:"limit"` // 1 to 100; default 10
}

// OneEntry names an entry.
type OneEntry struct {
	InSpace
	Entry string `path:"entry"`
}

// VetoRequest forbids an entry to answer a question.
type VetoRequest struct {
	OneEntry
	Veto
}

// Veto names the question for which an entry's answer was wrong.
type Veto struct {
	Asked string `json:"asked"`
}

// ExportedEntry is a line of an export.
type ExportedEntry struct {
	Question string              `json:"question"`
	Answer   string              `json:"answer"`
	Refused  bool                `json:"refused,omitempty"`
	Cut      bool                `json:"cut,omitempty"`
	Evidence []percached.ChunkID `json:"evidence"`
	Sources  []percached.ChunkID `json:"sources,omitempty"`
	Origin   string              `json:"origin"`
	Under    string              `json:"instructions,omitempty"`
	Settings string              `json:"settings"` // identifies model, prompt and retrieval settings
	Made     time.Time           `json:"made"`
	Expires  time.Time           `json:"expires,omitzero"`
	Hits     uint64              `json:"hits"`
}

// Imported counts the lines of an import by result.
type Imported struct {
	Imported int             `json:"imported"`
	Skipped  int             `json:"skipped"` // the bank already has an answer
	Refused  []ImportRefused `json:"refused"`
	Unnamed  int             `json:"unnamed,omitempty"` // refused lines that Refused does not list
}

// ImportRefused names a line that was not imported.
type ImportRefused struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// Export asks for every answered entry of a space.
type Export struct {
	InSpace
	Each func(ExportedEntry) error
}

// Import adds exported entries, one JSON line each. An entry is imported completely or not at
// all.
type Import struct {
	InSpace
	Lines io.Reader
}

const linesType = "application/x-ndjson"

// exportEntries sends one line per entry. If an error occurs after the first line, the server
// cuts the connection, so a response that ends normally is complete.
func (s *Server) exportEntries(w http.ResponseWriter, r *http.Request) error {
	in, err := params[InSpace](r)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", linesType)
	h.Set("Content-Disposition", `attachment; filename="entries.ndjson"`)
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	_, err = s.backend.Export(r.Context(), Export{in, func(e ExportedEntry) error {
		if err := lines.Encode(withEmptyLists(e)); err != nil {
			return errClientGone
		}
		return nil
	}})
	return err
}

func (s *Server) importEntries(w http.ResponseWriter, r *http.Request) error {
	in, err := params[InSpace](r)
	if err != nil {
		return err
	}
	if err := requireType(r, linesType, "application/jsonl"); err != nil {
		return err
	}
	setBodyLimit(r, s.MaxUpload)
	out, err := s.backend.Import(r.Context(), Import{in, r.Body})
	if body := exchangeOf(r.Context()).body.readError(); err == nil && body != nil {
		err = body // the client did not send the whole body
	}
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}

// GateReport says what the gate of a space has served in other words and found, and what is in
// force.
type GateReport struct {
	MaxWrong  float64 `json:"max_wrong"`
	State     string  `json:"state"`     // proven, calibrated, learnt, shut
	Threshold float64 `json:"threshold"` // the score from which stored answers are served; above 1: none
	Served    uint64  `json:"served"`    // answers served for a question in other words
	Checked   uint64  `json:"checked"`   // of those, answered again and compared
	Wrong     uint64  `json:"wrong"`     // of those, different from the fresh answer
	// Estimate is the expected share of wrong answers, with its 95 % interval.
	Estimate float64 `json:"estimate"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
}
