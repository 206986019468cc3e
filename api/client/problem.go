package client

import (
	"encoding/json"
	"fmt"
	"strings"
)

// ProblemError is a problem as an error.
type ProblemError struct {
	Problem Problem
}

func (e *ProblemError) Error() string {
	p := e.Problem
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", p.Status, p.Title)
	if p.Detail != nil {
		b.WriteString(": " + *p.Detail)
	}
	for i, f := range p.Errors {
		b.WriteString([]string{": ", "; "}[min(i, 1)] + f.Field + " " + f.Detail)
	}
	return b.String()
}

// Sentence describes the problem to a user: its detail and the invalid fields.
func (e *ProblemError) Sentence() string {
	p := &e.Problem
	text := p.Title
	if p.Detail != nil && *p.Detail != "" {
		text = *p.Detail
	}
	for i, f := range p.Errors {
		at := strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(f.Field, "query:"), "path:"), "/")
		text += []string{": ", "; "}[min(i, 1)] + strings.ReplaceAll(at, "/", ".") + ": " + f.Detail
	}
	return text
}

// Failed returns the error of a response: nil below status 400, and a *ProblemError if the body
// is a problem.
func Failed(status int, body []byte) error {
	if status < 400 {
		return nil
	}
	e := &ProblemError{}
	if err := json.Unmarshal(body, &e.Problem); err != nil || e.Problem.Status != status {
		return fmt.Errorf("unexpected response with status %d and no problem body", status)
	}
	return e
}
