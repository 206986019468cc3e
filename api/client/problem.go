package client

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
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
	if what := p.what(); what != "" {
		b.WriteString(": " + what)
	}
	return b.String()
}

// what returns the detail without the fix at its end. It names the invalid fields.
func (p *Problem) what() string {
	return strings.TrimSuffix(strings.TrimSuffix(p.Detail, p.Fix), ". ")
}

// Sentence describes the problem to a user: what is wrong, or the invalid fields. The fix
// addresses programs.
func (e *ProblemError) Sentence() string {
	p := &e.Problem
	text := p.Title
	if what := p.what(); what != "" && len(p.Errors) == 0 {
		text = what
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

// WithProblems makes every call return a problem as its error, a *ProblemError. Name it after
// WithHTTPClient.
func WithProblems() ClientOption {
	return func(c *Client) error {
		next := c.Client
		if next == nil {
			next = &http.Client{}
		}
		c.Client = problemDoer{next}
		return nil
	}
}

type problemDoer struct{ next HttpRequestDoer }

const maxProblem = 1 << 20 // bytes

func (d problemDoer) Do(r *http.Request) (*http.Response, error) {
	resp, err := d.next.Do(r)
	if err != nil || resp.StatusCode < 400 {
		return resp, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return nil, err
	}
	return nil, Failed(resp.StatusCode, body)
}
