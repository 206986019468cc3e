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
	Answered bool       `json:"answered"` // false: prefilled only
	Refused  bool       `json:"refused"`
	Cut      bool       `json:"cut,omitempty"` // it ended at the limit of tokens
	Stale    bool       `json:"stale"`
	StaleWhy string     `json:"stale_why,omitempty"`
	Origin   string     `json:"origin"` // asked or predicted
	Evidence []Evidence `json:"evidence"`
	Hits     uint64     `json:"hits"`
	Made     time.Time  `json:"made"`
	Used     time.Time  `json:"used,omitzero"`
	Expires  time.Time  `json:"expires,omitzero"`
	// Similarity to what was searched for.
	Similarity *float64 `json:"similarity,omitempty"`
}

// Evidence is a chunk that an answer was made from.
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

// Bank counts what the QA bank holds of a space.
type Bank struct {
	Entries  int    `json:"entries"`
	Answered int    `json:"answered"`
	Stale    int    `json:"stale"`
	Vetoes   int    `json:"vetoes"`
	Hits     uint64 `json:"hits"`
	Bytes    int64  `json:"bytes"`
}

// EntrySearch looks for stored questions near a text.
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

// VetoIn keeps an entry from ever answering a question.
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
	Settings string              `json:"settings"` // mark of model, prompt and retrieval
	Made     time.Time           `json:"made"`
	Expires  time.Time           `json:"expires,omitzero"`
	Hits     uint64              `json:"hits"`
}

// Imported counts what became of the lines of an import.
type Imported struct {
	Imported int             `json:"imported"`
	Skipped  int             `json:"skipped"` // the bank has an answer
	Refused  []ImportRefused `json:"refused"`
	Unnamed  int             `json:"unnamed,omitempty"` // refused, beyond those named
}

// ImportRefused is a line that was not imported.
type ImportRefused struct {
	Line   int    `json:"line"`
	Reason string `json:"reason"`
}

// Export asks for every answered entry of a space.
type Export struct {
	InSpace
	Each func(ExportedEntry) error
}

// Import brings JSON lines of exported entries in; each is in whole or not at all.
type Import struct {
	InSpace
	Lines io.Reader
}

const linesType = "application/x-ndjson"

// exportEntries sends a line for each entry. If something fails behind the first
// one, the connection is cut: an export that ends well is whole.
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
		err = body // what came in is not all that was sent
	}
	if err != nil {
		return err
	}
	return reply(w, http.StatusOK, out)
}
