package openai

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
)

// A client whose body fails gets its own error, and others are served on.
func TestPassFailedBody(t *testing.T) {
	e, _, _ := started(t, nil, says(text("At ten."), stop, done))
	wrong := errors.New("the body is too long")
	for range breakAfter {
		body := io.MultiReader(strings.NewReader("{"), failingReader{wrong})
		resp, err := e.Pass(context.Background(), Passed{Method: "POST", Path: "/v1/chat/completions", Body: body, Length: -1})
		if !errors.Is(err, wrong) {
			t.Errorf("%v, want %v", err, wrong)
		}
		if resp != nil {
			resp.Body.Close()
		}
	}
	if _, got, err := asks(e); got != "At ten." || err != nil {
		t.Errorf("after bodies that failed: %q, %v", got, err)
	}
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) { return 0, r.err }
