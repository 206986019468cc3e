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

// Report is what the demo showed.
type Report struct {
	Documents  int             `json:"documents"`
	Chunks     int             `json:"chunks"`
	Prediction demoPrediction  `json:"prediction"`
	Questions  []demoRow       `json:"questions"`
	Receipt    *client.Receipt `json:"receipt,omitempty"` // of the deleted mail
	Wrong      []string        `json:"wrong"`             // what did not come as it must
	Seconds    float64         `json:"seconds"`
	builtIn    bool            // the model is
}

type demoPrediction struct {
	Seconds   float64 `json:"seconds"`
	Complete  bool    `json:"complete"` // nothing was left to do
	Summaries int     `json:"summaries"`
	Predicted int     `json:"predicted"`
	Ready     int     `json:"ready"`
}

// demoRow is a question and what came of it.
type demoRow struct {
	Step     string  `json:"step"`
	Question string  `json:"question"`
	Ms       float64 `json:"ms"` // until whoever asked had the answer
	Outcome  string  `json:"outcome"`
	Reused   int     `json:"reused_tokens"`
	Prompt   int     `json:"prompt_tokens"` // 0: no prompt was needed
	Answer   string  `json:"answer"`
	Refused  bool    `json:"refused"`
}

// must notes what should hold and does not.
func (s *story) must(holds bool, format string, args ...any) {
	if !holds {
		s.report.Wrong = append(s.report.Wrong, fmt.Sprintf(format, args...))
	}
}

// Table prints the report for a person.
func (r *Report) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	p := &cmdline.Printer{W: t}
	p.Line("")
	p.Line("step\tquestion\ttime\toutcome\ttokens reused\tanswer")
	for _, q := range r.Questions {
		tokens := "no prompt"
		if q.Prompt > 0 {
			tokens = fmt.Sprintf("%d of %d", q.Reused, q.Prompt)
		}
		p.Line("%s\t%s\t%.1f ms\t%s\t%s\t%s", q.Step, q.Question, q.Ms, q.Outcome, tokens, short(q.Answer))
	}
	if p.Err == nil {
		p.Err = t.Flush()
	}
	p.W = w
	p.Line("")
	p.Line("All of it took %s. What the model says after the deletion may be made up, but does", span(time.Duration(r.Seconds*float64(time.Second))))
	p.Line("not come from the mail.")
	if r.builtIn {
		p.Line("The built-in model is tiny, a demonstration, and often wrong. percached pull fetches a real")
		p.Line("one, and percached demo --model FILE shows the same with it.")
	}
	for _, wrong := range r.Wrong {
		p.Line("Not as it must be: %s.", wrong)
	}
	return p.Err
}

// short is an answer that fits on a line.
func short(answer string) string {
	const most = 60
	r := []rune(strings.Join(strings.Fields(answer), " "))
	if len(r) > most {
		r = append(r[:most-1], '…')
	}
	return string(r)
}

// span is a time as people read it.
func span(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
