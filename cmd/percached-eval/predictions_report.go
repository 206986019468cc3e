package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/predictor"
)

// predictingReport is the report of bench predict.
type predictingReport struct {
	Model     string  `json:"model"`
	Placement string  `json:"placement"`
	Documents int     `json:"documents"`
	Chunks    int     `json:"chunks"`
	Floor     float64 `json:"floor"`
	Share     float64 `json:"share"`

	Rounds      int                    `json:"rounds"`
	AskedFor    int                    `json:"asked_for"`
	Printed     int                    `json:"printed"`
	Dropped     map[predictor.Drop]int `json:"dropped"`
	Predictions formLine               `json:"predictions"` // stored predictions
	Real        formLine               `json:"real"`        // real questions by the same rules
	Floors      []floorLine            `json:"floors"`
	Services    []*serviceLine         `json:"services"`
	List        []verdict              `json:"list,omitempty"`

	guesses, real, foreign []verdict
}

// formLine counts questions by the rules they meet.
type formLine struct {
	All        int            `json:"all"`
	WellFormed int            `json:"well_formed"`
	IllFormed  map[string]int `json:"ill_formed"` // why
	Supported  int            `json:"supported"`
	Distinct   int            `json:"distinct"`
	Every      int            `json:"every"` // well formed, supported and distinct
	History    int            `json:"from_history,omitempty"`
	Ready      int            `json:"ready,omitempty"`
	Hit        int            `json:"hit,omitempty"` // served
}

func formOf(questions []verdict) formLine {
	l := formLine{All: len(questions), IllFormed: map[string]int{}}
	for _, q := range questions {
		if q.Ill != "" {
			l.IllFormed[q.Ill]++
		}
		count(&l.WellFormed, q.Ill == "")
		count(&l.Supported, q.Supported)
		count(&l.Distinct, q.Distinct)
		count(&l.Every, q.Ill == "" && q.Supported && q.Distinct)
		count(&l.History, q.From == string(predictor.History))
		count(&l.Ready, q.Ready)
	}
	return l
}

func count(n *int, yes bool) {
	if yes {
		*n++
	}
}

// floorLine has, for a minimum similarity, the share of each group of questions that reaches
// it, and the share that also passes the rest of the filter.
type floorLine struct {
	Floor float64               `json:"floor"`
	Above map[string]floorShare `json:"above"`
}

type floorShare struct {
	Above float64 `json:"above"`
	Kept  float64 `json:"kept"`
}

// The groups of questions that a floor should separate.
const (
	realGroup    = "real"
	foreignGroup = "foreign"
	goodGroup    = "predicted, in order" // well formed and supported
	illGroup     = "predicted, ill formed"
)

func groups() []string { return []string{realGroup, foreignGroup, goodGroup, illGroup} }

// judge fills in the verdicts.
func (r *predictingReport) judge(s *node.Node) error {
	st, err := s.Predictor.Stats(predictSpace)
	if err != nil {
		return err
	}
	r.Printed, r.Dropped = st.Predictions, map[predictor.Drop]int{}
	for why, n := range st.Dropped {
		r.Dropped[why] = int(n)
		if why != predictor.Empty {
			r.Printed += int(n)
		}
	}
	r.Predictions, r.Real = formOf(r.guesses), formOf(r.real)
	r.Predictions.Hit = st.Hit
	of := map[string][]verdict{realGroup: r.real, foreignGroup: r.foreign}
	for _, g := range r.guesses {
		switch {
		case g.Ill != "":
			of[illGroup] = append(of[illGroup], g)
		case g.Supported:
			of[goodGroup] = append(of[goodGroup], g)
		}
	}
	for at := range 17 {
		l := floorLine{float64(at) / 20, map[string]floorShare{}}
		for name, questions := range of {
			above, kept := 0, 0
			for _, q := range questions {
				count(&above, q.Cosine >= l.Floor)
				count(&kept, q.Cosine >= l.Floor && q.Kept)
			}
			n := float64(len(questions))
			l.Above[name] = floorShare{ratio(float64(above), n), ratio(float64(kept), n)}
		}
		r.Floors = append(r.Floors, l)
	}
	return nil
}

func (r *predictingReport) Table(w io.Writer) error {
	p := &cmdline.Printer{W: w}
	p.Line("%s, %s; %d documents, %d chunks", r.Model, r.Placement, r.Documents, r.Chunks)
	for _, s := range r.Services {
		if len(s.Work.Kinds) > 0 && p.Err == nil {
			p.Line("\nidle work of %s: %.1f s", s.Name, s.Work.Seconds)
			for _, k := range s.Work.Kinds {
				p.Line("%-10s %5d jobs %4d failed %8.1f s %8d tokens read %7d written %10d bytes %5d questions",
					k.Kind, k.Done, k.Failed, k.Seconds, k.Computed, k.Generated, k.Written, k.Questions)
			}
		}
	}
	p.Line("\n%d rounds, %d questions asked for, %d printed, %d kept", r.Rounds, r.AskedFor, r.Printed, r.Predictions.All)
	for _, why := range slices.Sorted(maps.Keys(r.Dropped)) {
		p.Line("%6d dropped: %s", r.Dropped[why], why)
	}
	p.Line("\n%-20s %6s %12s %12s %12s %12s", "", "all", "well formed", "supported", "distinct", "all three")
	r.Predictions.row(p, "predictions kept")
	r.Real.row(p, "asked by people")
	for _, l := range []formLine{r.Predictions, r.Real} {
		var ill []string
		for _, why := range slices.Sorted(maps.Keys(l.IllFormed)) {
			ill = append(ill, fmt.Sprintf("%s %d", why, l.IllFormed[why]))
		}
		p.Line("not well formed: %s", cmp.Or(strings.Join(ill, ", "), "none"))
	}
	r.floors(p)
	p.Line("")
	serviceHead(p)
	for _, s := range r.Services {
		s.row(p)
	}
	for _, g := range r.List {
		p.Line("%.3f supported %-5v distinct %-5v %-6s %q", g.Cosine, g.Supported, g.Distinct, cmp.Or(g.Ill, "well"), g.Question)
	}
	return p.Err
}

func (l *formLine) row(p *cmdline.Printer, name string) {
	share := func(n int) string { return fmt.Sprintf("%5d %5.1f%%", n, 100*ratio(float64(n), float64(l.All))) }
	p.Line("%-20s %6d %12s %12s %12s %12s", name, l.All, share(l.WellFormed), share(l.Supported), share(l.Distinct), share(l.Every))
}

func (r *predictingReport) floors(p *cmdline.Printer) {
	head := fmt.Sprintf("\n%-8s", "floor")
	for _, g := range groups() {
		head += fmt.Sprintf(" %22s", g)
	}
	p.Line("%s   (share above; with the rest of the filter)", head)
	for _, l := range r.Floors {
		line := fmt.Sprintf("%-8.2f", l.Floor)
		for _, g := range groups() {
			line += fmt.Sprintf("        %5.1f%%  %5.1f%%", 100*l.Above[g].Above, 100*l.Above[g].Kept)
		}
		p.Line("%s", line)
	}
}
