package answer

import (
	"errors"
	"log/slog"
	"testing"
)

// Clients that asked the same question share its answer. A note for one of them is neither a
// write into that of another nor seen there.
func TestNotesOfOneFollower(t *testing.T) {
	a := &Asker{Parts: Parts{Logger: slog.New(slog.DiscardHandler)}}
	shared := append(make([]string, 0, 4), "a note of the question")
	answer := Answer{Notes: shared}
	a.continueDialog(Question{Space: "s"}, dialog{failed: errors.New("full")}, &answer)
	if len(answer.Notes) != 2 || shared[:2][1] != "" {
		t.Errorf("%q, shared %q", answer.Notes, shared[:2])
	}
}
