package demo

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

// Report is the result of the demo.
type Report struct {
	Documents  int             `json:"documents"`
	Chunks     int             `json:"chunks"`
	Prediction prediction      `json:"prediction"`
	Questions  []row           `json:"questions"`
	Receipt    *client.Receipt `json:"receipt,omitempty"` // of the deleted mail
	Failures   []string        `json:"wrong"`             // failed expectations
	Seconds    float64         `json:"seconds"`
	builtIn    bool            // the model is the built-in one
}

type prediction struct {
	Seconds   float64 `json:"seconds"`
	Complete  bool    `json:"complete"` // no work was left
	Summaries int     `json:"summaries"`
	Predicted int     `json:"predicted"`
	Ready     int     `json:"ready"`
}

// row is a question and its outcome.
type row struct {
	Step     string  `json:"step"`
	Question string  `json:"question"`
	Ms       float64 `json:"ms"` // until the client had the answer
	Outcome  string  `json:"outcome"`
	Reused   int     `json:"reused_tokens"`
	Prompt   int     `json:"prompt_tokens"` // 0: no prompt was needed
	Answer   string  `json:"answer"`
	Refused  bool    `json:"refused"`
}

// expect adds a failure to the report unless holds is true.
func (s *story) expect(holds bool, format string, args ...any) {
	if !holds {
		s.report.Failures = append(s.report.Failures, fmt.Sprintf(format, args...))
	}
}

// Table prints the report for a person.
func (r *Report) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	p := &cmdline.Printer{W: t}
	p.Line("")
	p.Line("step\tquestion\ttime\thow\ttokens reused\tanswer")
	for _, q := range r.Questions {
		tokens := "no prompt"
		if q.Prompt > 0 {
			tokens = fmt.Sprintf("%d of %d", q.Reused, q.Prompt)
		}
		p.Line("%s\t%s\t%.1f ms\t%s\t%s\t%s", q.Step, q.Question, q.Ms, client.Outcome(q.Outcome).Text(), tokens, shorten(q.Answer))
	}
	if p.Err == nil {
		p.Err = t.Flush()
	}
	p.W = w
	p.Line("")
	p.Line("The demo took %s. After the deletion the model may invent an answer, but it does not", seconds(time.Duration(r.Seconds*float64(time.Second))))
	p.Line("come from the mail.")
	if r.builtIn {
		p.Line("The built-in model is tiny and often wrong. percached pull downloads a real one, and")
		p.Line("percached demo --model FILE uses it.")
	}
	for _, wrong := range r.Failures {
		p.Line("FAILED: %s.", wrong)
	}
	return p.Err
}

// shorten cuts an answer to one line of at most 60 characters.
func shorten(answer string) string {
	const most = 60
	r := []rune(strings.Join(strings.Fields(answer), " "))
	if len(r) > most {
		r = append(r[:most-1], '…')
	}
	return string(r)
}

// seconds prints a duration in seconds.
func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
