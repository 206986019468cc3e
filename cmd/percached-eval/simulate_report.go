package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/scheduler"
)

// monthReport is the report of a simulated month.
type monthReport struct {
	Profile    string         `json:"profile"`
	About      string         `json:"about"`
	Seed       uint64         `json:"seed"`
	Days       int            `json:"days"`
	Prediction string         `json:"prediction"`
	Adaptive   bool           `json:"adaptive"`
	Conversion bool           `json:"conversion"`
	Weeks      []*period      `json:"weeks"`
	All        *period        `json:"all"`
	Pace       []paceChange   `json:"pace"`
	Checked    map[string]int `json:"checked"` // number of checks by invariant
}

func (s *simulator) report() (*monthReport, error) {
	r := &monthReport{
		Profile: s.profile.Name, About: s.profile.About, Seed: s.seed, Days: s.profile.Days,
		Prediction: s.prediction, Adaptive: s.adaptive, Conversion: s.conversion,
		Weeks: s.count.weeks, All: s.count.all, Pace: s.count.paces, Checked: s.guard.held,
	}
	for _, p := range append(slices.Clone(r.Weeks), r.All) {
		p.conclude()
		for _, l := range p.Relations {
			l.conclude()
		}
	}
	return r, nil
}

// conclude computes rates and times from the counts.
func (l *questionsLine) conclude() {
	mean := func(ds []time.Duration) float64 {
		var sum time.Duration
		for _, d := range ds {
			sum += d
		}
		return ratio(ms(sum), float64(len(ds)))
	}
	l.MeanMs, l.MedianMs = mean(l.took), ms(median(l.took))
	l.ColdMeanMs, l.ColdMedianMs = mean(l.cold), ms(median(l.cold))
	l.SavedSeconds = (l.ColdMeanMs - l.MeanMs) * float64(l.Asked) / 1000
	l.BankRate = ratio(float64(l.Outcomes[answer.AnswerHit]), float64(l.Asked))
	l.ChunkRate = ratio(float64(l.stored), float64(l.chunks))
	l.TokenRate = ratio(float64(l.reused), float64(l.tokens))
}

func (r *monthReport) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "%s: %s\nseed %d, %d days, prediction %s, adaptive %v, conversion %v\n\n", r.Profile, r.About, r.Seed, r.Days, r.Prediction, r.Adaptive, r.Conversion)
	periods := append(slices.Clone(r.Weeks), r.All)
	row := func(name string, tell func(*period) string) {
		fmt.Fprint(t, name)
		for _, p := range periods {
			fmt.Fprintf(t, "\t%s", tell(p))
		}
		fmt.Fprintln(t)
	}
	r.questions(row)
	r.work(row)
	if err := t.Flush(); err != nil {
		return err
	}
	p := &cmdline.Printer{W: w}
	p.Line("")
	const maxListed = 5
	for i, c := range r.Pace {
		if i < maxListed || i+1 == len(r.Pace) {
			p.Line("prediction from day %d on: %s (%s)", c.Day, c.Speed, c.Why)
		} else if i == maxListed {
			p.Line("  ... %d more changes ...", len(r.Pace)-maxListed-1)
		}
	}
	for _, l := range r.of(r.All) {
		p.Line("%s", l)
	}
	n := 0
	for _, times := range r.Checked {
		n += times
	}
	p.Line("%d checks of invariants passed.", n)
	return p.Err
}

type rows func(name string, tell func(*period) string)

// questions prints the rows about questions.
func (r *monthReport) questions(row rows) {
	row("", func(p *period) string { return p.Name })
	row("documents new, changed, deleted", func(p *period) string {
		return fmt.Sprintf("%d, %d, %d", p.Documents.Added, p.Documents.Replaced, p.Documents.Deleted)
	})
	row("questions", func(p *period) string { return fmt.Sprint(p.Asked) })
	for _, o := range []answer.Outcome{answer.AnswerHit, answer.VerifiedHit, answer.TensorHit, answer.Miss} {
		row("  "+string(o), func(p *period) string { return fmt.Sprint(p.Outcomes[o]) })
	}
	for _, rel := range persona.Relations() {
		if r.All.Relations[rel] == nil {
			continue
		}
		row("  "+string(rel)+": hits of bank, verified, of tensors, misses", func(p *period) string {
			l := p.Relations[rel]
			if l == nil {
				return "-"
			}
			return fmt.Sprintf("%d, %d, %d, %d", l.Outcomes[answer.AnswerHit], l.Outcomes[answer.VerifiedHit], l.Outcomes[answer.TensorHit], l.Outcomes[answer.Miss])
		})
	}
	row("answers right, missed, wrong", func(p *period) string {
		return fmt.Sprintf("%d, %d, %d", p.Answers[rightAnswer], p.Answers[missedIt], p.Answers[wrongAnswer])
	})
	row("questions answered by the bank", func(p *period) string { return percent(p.BankRate) })
	row("other prompts' tokens from tensors", func(p *period) string { return percent(p.TokenRate) })
	row("latency, mean (cold)", func(p *period) string { return fmt.Sprintf("%.2f s (%.2f)", p.MeanMs/1000, p.ColdMeanMs/1000) })
	row("latency, median (cold)", func(p *period) string { return fmt.Sprintf("%.2f s (%.2f)", p.MedianMs/1000, p.ColdMedianMs/1000) })
	row("saved", func(p *period) string { return fmt.Sprintf("%.0f s", p.SavedSeconds) })
	row("waited for a job, longest wait", func(p *period) string { return fmt.Sprintf("%d, %.0f ms", p.Waited, p.MaxWaitMs) })
}

// work prints the rows about idle work.
func (r *monthReport) work(row rows) {
	row("idle compute", func(p *period) string { return fmt.Sprintf("%.0f s", p.Idle.Seconds) })
	for _, k := range scheduler.Kinds() {
		if r.All.Idle.Kinds[k] == nil {
			continue
		}
		row("  "+string(k)+": jobs, seconds, earned", func(p *period) string {
			l := p.Idle.Kinds[k]
			if l == nil {
				return "-"
			}
			return fmt.Sprintf("%d, %.0f, %.0f", l.Jobs, l.Seconds, l.Earned)
		})
	}
	row("  earned", func(p *period) string { return fmt.Sprintf("%.0f s", p.Idle.Earned) })
	row("  gave way, failed", func(p *period) string { return fmt.Sprintf("%d, %d", p.Idle.Preempted, p.Idle.Failed) })
	row("tensors written, MB", func(p *period) string { return fmt.Sprintf("%.1f", float64(p.Tensors.Written)/1e6) })
	row("tensors stored, limit, MB", func(p *period) string {
		return fmt.Sprintf("%.1f of %.1f", float64(p.Tensors.Bytes)/1e6, float64(p.Tensors.Limit)/1e6)
	})
	row("slices evicted", func(p *period) string { return fmt.Sprint(p.Tensors.Evicted) })
	row("answers in the bank, stale", func(p *period) string { return fmt.Sprintf("%d, %d", p.Bank.Answered, p.Bank.Stale) })
	row("predictions alive, populated, asked", func(p *period) string {
		return fmt.Sprintf("%d, %d, %d", p.Predictions.Alive, p.Predictions.Populated, p.Predictions.Hit)
	})
	for _, speed := range []scheduler.Speed{scheduler.PaceFull, scheduler.PaceSlow, scheduler.PaceStopped} {
		row("hours of prediction: "+string(speed), func(p *period) string { return fmt.Sprintf("%.0f", p.Pace[speed]) })
	}
	row("hours without work", func(p *period) string { return fmt.Sprintf("%.0f", p.Idle.HoursWaited) })
	for _, code := range slices.Sorted(maps.Keys(r.All.Idle.NotWorked)) {
		row("  "+code, func(p *period) string { return fmt.Sprintf("%.1f", p.Idle.NotWorked[code]) })
	}
	row("nights after which no work was left", func(p *period) string { return fmt.Sprint(p.Nights.Drained) })
	for _, code := range slices.Sorted(maps.Keys(r.All.Nights.Left)) {
		row("  or not: "+code, func(p *period) string { return fmt.Sprint(p.Nights.Left[code]) })
	}
}

// of lists figures that have no column.
func (r *monthReport) of(p *period) []string {
	var dropped []string
	for _, d := range predictor.Drops() {
		if n := p.Predictions.Dropped[d]; n > 0 {
			dropped = append(dropped, fmt.Sprintf("%s %d", d, n))
		}
	}
	if dropped == nil {
		return nil
	}
	return []string{"dropped model output: " + strings.Join(dropped, ", ")}
}

func percent(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
