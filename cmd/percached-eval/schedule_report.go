package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/scheduler"
)

// schedulePhase is the idle work before a question.
type schedulePhase struct {
	Before      int         `json:"before_question"`
	Threshold   float64     `json:"threshold"`
	Limit       int64       `json:"limit_bytes"`
	Documents   int         `json:"documents"` // added so far
	Done        both[tally] `json:"done"`
	Accumulated both[tally] `json:"accumulated"` // including earlier phases
}

// scheduleAsked is a question with its answers.
type scheduleAsked struct {
	Question  string         `json:"question"`
	Kind      string         `json:"kind"`
	Threshold float64        `json:"threshold"`
	Limit     int64          `json:"limit_bytes"`
	With      scheduleAnswer `json:"with"`
	Without   scheduleAnswer `json:"without"`
	// Compared: both nodes computed the answer, so they must be Equal.
	Compared bool `json:"compared"`
	Equal    bool `json:"equal"`
}

type scheduleAnswer struct {
	Outcome   answer.Outcome `json:"outcome"`
	Ms        float64        `json:"ms"`
	Prompt    int            `json:"prompt_tokens"`
	Reused    int            `json:"reused_tokens"`
	Generated int            `json:"generated_tokens"`
}

// saved is the difference of two amounts of compute.
type saved struct {
	both[effort]
	Compute   float64 `json:"saved_compute"` // share; negative if it cost more
	Computed  float64 `json:"saved_computed"`
	Generated float64 `json:"saved_generated"`
}

func saving(with, without effort) saved {
	share := func(with, without float64) float64 {
		if without == 0 {
			return 0
		}
		return 1 - with/without
	}
	return saved{
		both[effort]{with, without},
		share(with.compute(), without.compute()),
		share(float64(with.Computed), float64(without.Computed)), share(float64(with.Generated), float64(without.Generated)),
	}
}

// scheduleReport is the report of bench schedule.
type scheduleReport struct {
	Model     string          `json:"model"`
	Placement string          `json:"placement"`
	Threads   int             `json:"threads"`
	Cutoff    float64         `json:"cutoff"`
	Seed      uint64          `json:"seed"`
	Documents int             `json:"documents"`
	Chunks    int             `json:"chunks"`
	Stored    int64           `json:"first_stored_bytes"` // by the first idle work, without a limit
	Share     float64         `json:"limit_share"`
	Limit     int64           `json:"limit_bytes"` // until it was raised
	Asked     []scheduleAsked `json:"questions"`
	Phases    []schedulePhase `json:"idle"`

	// All idle work, and its part that populates and converts: until the threshold falls, and
	// at the end.
	High           saved `json:"compute_until_fall"`
	HighPopulation saved `json:"population_until_fall"`
	All            saved `json:"compute"`
	Population     saved `json:"population"`

	MeanMs   both[float64] `json:"mean_ms"`
	Decoded  int           `json:"decoded_after_fall"`          // entries
	Restored int           `json:"restored_slices_after_raise"` // with the scheduler
	Compared int           `json:"compared"`                    // questions that both computed
	Equal    bool          `json:"equal"`                       // with the same answers
}

func (r *scheduleReport) conclude() {
	high, all := r.Phases[thresholdFalls-1].Accumulated, r.Phases[len(r.Phases)-1].Accumulated
	r.High, r.HighPopulation = saving(high.With.Total, high.Without.Total), saving(high.With.population(), high.Without.population())
	r.All, r.Population = saving(all.With.Total, all.Without.Total), saving(all.With.population(), all.Without.population())
	for i, p := range r.Phases {
		if i >= thresholdFalls {
			r.Decoded += p.Done.With.Kinds[scheduler.Decode].Jobs
		}
		if i >= limitRises {
			r.Restored += p.Done.With.Kinds[scheduler.Restore].Slices
		}
	}
	r.Equal = true
	for _, a := range r.Asked {
		r.MeanMs.With += a.With.Ms / float64(len(r.Asked))
		r.MeanMs.Without += a.Without.Ms / float64(len(r.Asked))
		if a.Compared {
			r.Compared++
			r.Equal = r.Equal && a.Equal
		}
	}
}

func (r *scheduleReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("%s, %s; %d documents, %d chunks; cut-off %.2f", r.Model, r.Placement, r.Documents, r.Chunks, r.Cutoff)
	p.Line("limit of tensors until question %d: %s, %.0f %% of what the first idle work stored", limitRises, mib(r.Limit), 100*r.Share)
	p.Line("")
	p.Line("%2s %-9s %-9s %-11s %9s %7s   %-11s %9s %7s   %-5s  %s", "q", "threshold", "limit", "with", "ms", "reused", "without", "ms", "reused", "equal", "question")
	for i, a := range r.Asked {
		equal := "-"
		if a.Compared {
			equal = fmt.Sprint(a.Equal)
		}
		p.Line("%2d %-9.2f %-9s %-11s %9.2f %6.1f%%   %-11s %9.2f %6.1f%%   %-5s  %s: %s", i+1, a.Threshold, mib(a.Limit),
			a.With.Outcome, a.With.Ms, 100*ratio(float64(a.With.Reused), float64(a.With.Prompt)),
			a.Without.Outcome, a.Without.Ms, 100*ratio(float64(a.Without.Reused), float64(a.Without.Prompt)), equal, a.Kind, a.Question)
	}
	r.phases(p)
	p.Line("")
	p.Line("%-46s %10s %10s %8s %8s %8s   (%s; tokens)", "", "with", "without", "saved", "read", "written", r.clock())
	for _, s := range []struct {
		name string
		saved
	}{
		{"all idle work until the threshold falls", r.High},
		{"populating and converting until then", r.HighPopulation},
		{"all idle work", r.All},
		{"populating and converting", r.Population},
	} {
		p.Line("%-46s %8.1f s %8.1f s %6.1f %% %6.1f %% %6.1f %%", s.name, s.With.compute(), s.Without.compute(), 100*s.Compute, 100*s.Computed, 100*s.Generated)
	}
	p.Line("%-46s %7.2f ms %7.2f ms", "mean latency of a question", r.MeanMs.With, r.MeanMs.Without)
	p.Line("")
	p.Line("%d entries were decoded after the threshold fell, %d slices restored after the limit rose", r.Decoded, r.Restored)
	if r.Equal {
		p.Line("equal answers to the %d questions that both computed", r.Compared)
	} else {
		p.Line("DIFFERENT answers to some of the %d questions that both computed", r.Compared)
	}
	return p.Err
}

// phases prints the accumulated compute of each kind before each question.
func (r *scheduleReport) phases(p *cmdline.Printer) {
	var kinds []scheduler.Kind
	last := r.Phases[len(r.Phases)-1].Accumulated
	for _, k := range scheduler.Kinds() {
		if last.With.Kinds[k] != (effort{}) || last.Without.Kinds[k] != (effort{}) {
			kinds = append(kinds, k)
		}
	}
	cell := func(e effort) string { return fmt.Sprintf("%.1f/%d/%d", e.compute(), e.Computed, e.Generated) }
	p.Line("")
	p.Line("accumulated idle compute before each question: %s/tokens read/tokens written", r.clock())
	heads := fmt.Sprintf("%2s %-8s %-20s", "q", "", "all")
	for _, k := range kinds {
		heads += fmt.Sprintf(" %-18s", k)
	}
	p.Line("%s", strings.TrimRight(heads, " "))
	for _, ph := range r.Phases {
		for _, side := range []struct {
			name string
			tally
		}{{"with", ph.Accumulated.With}, {"without", ph.Accumulated.Without}} {
			line := fmt.Sprintf("%2d %-8s %-20s", ph.Before, side.name, cell(side.Total))
			for _, k := range kinds {
				line += fmt.Sprintf(" %-18s", cell(side.Kinds[k]))
			}
			p.Line("%s", strings.TrimRight(line, " "))
		}
	}
}

// clock is the unit of compute.
func (r *scheduleReport) clock() string {
	if r.All.With.Processor > 0 {
		return "processor seconds"
	}
	return "seconds"
}

func mib(bytes int64) string {
	if bytes >= unlimited {
		return "none"
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}
