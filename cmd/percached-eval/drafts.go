package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/node"
)

func draftsCommand() *cobra.Command {
	return overNode(&cobra.Command{
		Use:   "drafts",
		Short: "Measure what drafts save while an answer is decoded",
		Long: `Reads one JSON object a line from standard input: space, question. Asks each question in
turn without drafts, with drafts from the prompt, and with drafts from the prompt and the
bank. The bank holds the answers to the questions before; it serves only exact repeats,
which are left out. All chunks are stored first, so only decoding differs. The report has
the accepted tokens of each source and the decode times in pairs. The answers stay in the
data folder.`,
		Example: `  percached-eval bench drafts --data ~/trial < questions.jsonl`,
	}, measureDrafts)
}

// draftsReport is the report of bench drafts.
type draftsReport struct {
	Model string     `json:"model"`
	Off   string     `json:"no_drafts,omitempty"` // why no draft is checked
	Ways  []draftWay `json:"ways"`
}

// draftWay has the counts of one way of asking. The first has no drafts.
type draftWay struct {
	Name      string               `json:"name"`
	Answers   int                  `json:"answers"`
	Generated int                  `json:"generated_tokens"`
	Equal     int                  `json:"equal"` // texts that equal those without drafts
	Verified  int                  `json:"verified"`
	Sources   []percached.DraftUse `json:"sources"`
	DecodeMs  float64              `json:"decode_ms"` // mean
	TotalMs   float64              `json:"total_ms"`  // mean
	// Decode time over that without drafts: of all answers together, and of single ones.
	Ratio  float64 `json:"ratio"`
	Median float64 `json:"ratio_median"`
	P90    float64 `json:"ratio_p90"`
	// Of answers that quote their documents: how many, and their ratio together.
	Quoting      int     `json:"quoting"`
	QuotingRatio float64 `json:"quoting_ratio"`

	ask    func(answer.Question) (answer.Answer, error)
	decode time.Duration
	total  time.Duration
	quoted time.Duration // decode time of answers that quote
	ratios []float64
}

func measureDrafts(ctx context.Context, s *node.Node, c node.Options, in io.Reader, stderr io.Writer) (*draftsReport, error) {
	info := s.Engine.Info()
	rep := &draftsReport{Model: info.Name, Off: info.NoDrafts}
	set, err := s.Settings(c.Config)
	if err != nil {
		return nil, err
	}
	set.MaxWrong = 0
	for _, w := range []struct {
		name         string
		drafts, bank bool
	}{{"without", false, false}, {"prompt", true, false}, {"prompt and bank", true, true}} {
		set.Drafts, set.Bank = w.drafts, w.bank
		asker, err := answer.New(s.Asker.Parts, set)
		if err != nil {
			return nil, err
		}
		defer asker.Close()
		rep.Ways = append(rep.Ways, draftWay{Name: w.name, ask: func(q answer.Question) (answer.Answer, error) {
			return asker.Ask(ctx, q, answer.Listener{})
		}})
	}
	lines := json.NewDecoder(bufio.NewReader(in))
	for n := 1; ; n++ {
		var q struct{ Space, Question string }
		switch err := lines.Decode(&q); {
		case errors.Is(err, io.EOF):
			rep.conclude()
			return rep, nil
		case err != nil:
			return nil, cmdline.Misusef("question %d: %v", n, err)
		}
		if err := rep.ask(answer.Question{Space: q.Space, Text: q.Question}, n); err != nil {
			return nil, err
		}
		if n%10 == 0 {
			cmdline.Say(stderr, "%d questions", n)
		}
	}
}

// ask asks a question in all ways, each time in another order, and counts the answers.
func (r *draftsReport) ask(q answer.Question, n int) error {
	if _, err := r.Ways[0].ask(q); err != nil { // stores the chunks
		return err
	}
	got := make([]answer.Answer, len(r.Ways))
	for i := range r.Ways {
		i = (i + n) % len(r.Ways)
		var err error
		if got[i], err = r.Ways[i].ask(q); err != nil {
			return err
		}
	}
	plain := &got[0]
	if plain.Times.Decode == 0 || slices.ContainsFunc(got, func(a answer.Answer) bool { return a.Outcome == answer.AnswerHit }) {
		return nil // one token, or an exact repeat
	}
	for i := range got {
		r.Ways[i].count(&got[i], plain)
	}
	return nil
}

func (w *draftWay) count(a, plain *answer.Answer) {
	w.Answers++
	w.Generated += a.Tokens.Generated
	if a.Text == plain.Text {
		w.Equal++
	}
	if a.Outcome == answer.VerifiedHit {
		w.Verified++
	}
	for _, u := range a.Drafts {
		i := slices.IndexFunc(w.Sources, func(s percached.DraftUse) bool { return s.Source == u.Source })
		if i < 0 {
			i = len(w.Sources)
			w.Sources = append(w.Sources, percached.DraftUse{Source: u.Source})
		}
		s := &w.Sources[i]
		s.Batches, s.Proposed, s.Accepted = s.Batches+u.Batches, s.Proposed+u.Proposed, s.Accepted+u.Accepted
	}
	if quotes(plain) {
		w.Quoting++
		w.quoted += a.Times.Decode
	}
	w.decode += a.Times.Decode
	w.total += a.Times.Total
	w.ratios = append(w.ratios, a.Times.Decode.Seconds()/plain.Times.Decode.Seconds())
}

// quotes reports whether an answer repeats its chunks: at least half of its words stand in
// runs of four or more words of one of them.
func quotes(a *answer.Answer) bool {
	words := strings.Fields(strings.ToLower(a.Text))
	const run = 4
	inside := make([]bool, len(words))
	for _, c := range a.Citations {
		text := " " + strings.Join(strings.Fields(strings.ToLower(c.Quote)), " ") + " "
		for i := 0; i+run <= len(words); i++ {
			if strings.Contains(text, " "+strings.Join(words[i:i+run], " ")+" ") {
				for j := range run {
					inside[i+j] = true
				}
			}
		}
	}
	n := 0
	for _, in := range inside {
		if in {
			n++
		}
	}
	return len(words) > 0 && 2*n >= len(words)
}

func (r *draftsReport) conclude() {
	for i := range r.Ways {
		w := &r.Ways[i]
		if w.Answers == 0 {
			continue
		}
		slices.Sort(w.ratios)
		w.Median, w.P90 = w.ratios[len(w.ratios)/2], w.ratios[len(w.ratios)*9/10]
		w.QuotingRatio = ratio(w.quoted.Seconds(), r.Ways[0].quoted.Seconds())
		w.Ratio = ratio(w.decode.Seconds(), r.Ways[0].decode.Seconds())
		w.DecodeMs, w.TotalMs = ms(w.decode)/float64(w.Answers), ms(w.total)/float64(w.Answers)
	}
}

func (r *draftsReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("%s; means in ms", r.Model)
	if r.Off != "" {
		p.Line("no draft is checked: %s", r.Off)
	}
	p.Line("%-16s %7s %6s %6s %8s %8s %8s %8s %8s %8s %8s %8s", "drafts", "answers", "tokens", "equal", "verified", "decode", "total", "ratio", "median", "p90", "quoting", "ratio")
	for i := range r.Ways {
		d := &r.Ways[i]
		p.Line("%-16s %7d %6d %6d %8d %8.1f %8.1f %8.3f %8.3f %8.3f %8d %8.3f", d.Name, d.Answers, d.Generated, d.Equal, d.Verified, d.DecodeMs, d.TotalMs, d.Ratio, d.Median, d.P90, d.Quoting, d.QuotingRatio)
		for _, s := range d.Sources {
			p.Line("  %-14s %7d batches, %d of %d tokens accepted, %.2f a batch", s.Source, s.Batches, s.Accepted, s.Proposed, ratio(float64(s.Accepted), float64(s.Batches)))
		}
	}
	return p.Err
}
