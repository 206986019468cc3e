package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/percached/percached/eval"
)

// Report is the sum of a run.
type Report struct {
	Header    Header   `json:"header"`
	Headline  Headline `json:"headline"`
	Systems   []System `json:"systems,omitempty"` // in the order of the run
	Sweeps    []Sweep  `json:"sweeps,omitempty"`
	Walk      *Walk    `json:"walk,omitempty"`
	Figures   []Figure `json:"figures,omitempty"`
	NoFigures []string `json:"no_figures,omitempty"` // figures that the run lacks the data for, and why
	Notes     []string `json:"notes,omitempty"`      // how to read the numbers
	// Files are the tables and figures beside report.json, with slashes.
	Files     []string   `json:"files,omitempty"`
	Questions []Question `json:"-"` // only in tables/questions.csv, because there are many

	figures []eval.Figure
}

// System is the sum of one system, for all users and for each.
type System struct {
	Name      string    `json:"name"`
	About     string    `json:"about"`
	Of        string    `json:"of,omitempty"`
	Reference string    `json:"reference,omitempty"`
	All       Totals    `json:"all"`
	Users     []PerUser `json:"users"`
}

// PerUser is the sum of a system for one user.
type PerUser struct {
	User string `json:"user"`
	Totals
}

// Figure names a figure. Its files are ID.svg and ID-dark.svg.
type Figure struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Paper string `json:"paper"`
	Note  string `json:"note,omitempty"`
}

// Make sums a run up.
func Make(r *eval.Results) *Report {
	b := open(r)
	rep := &Report{
		Header: b.header(), Systems: []System{}, Figures: []Figure{},
		Walk: b.walk(), Questions: b.questions(),
	}
	for i := range r.Run.Systems {
		rep.Systems = append(rep.Systems, b.system(&r.Run.Systems[i]))
	}
	rep.Headline, rep.Sweeps, rep.Notes = b.headline(rep), b.sweeps(rep), b.notes()
	rep.figures, rep.NoFigures = b.figures(rep)
	for i := range rep.figures {
		f := &rep.figures[i]
		rep.Figures = append(rep.Figures, Figure{ID: f.ID, Title: f.Title, Paper: f.Paper, Note: f.Note})
	}
	return rep
}

// system sums one system up.
func (data *runData) system(s *eval.System) System {
	all := data.responses[s.Name]
	out := System{Name: s.Name, About: s.About, Of: s.Of, Reference: s.Reference, Users: []PerUser{}}
	out.All = data.totals(s, "", all)
	for _, u := range data.users {
		var own []response
		for _, a := range all {
			if a.key.user == u {
				own = append(own, a)
			}
		}
		if len(own) > 0 {
			out.Users = append(out.Users, PerUser{u, data.totals(s, u, own)})
		}
	}
	return out
}

// find is the system with a name; nil: the report has none.
func (r *Report) find(name string) *System {
	for i := range r.Systems {
		if r.Systems[i].Name == name {
			return &r.Systems[i]
		}
	}
	return nil
}

// Sweep is a system with one setting at several values.
type Sweep struct {
	Of   string    `json:"of"`
	Key  string    `json:"key"`
	Rows []Variant `json:"rows"` // by value
}

// Variant is a system at one value.
type Variant struct {
	System     string    `json:"system"`
	Value      float64   `json:"value"`
	Label      string    `json:"label"` // the part of its name after @
	Latency    Estimate  `json:"latency_ms"`
	FirstToken Estimate  `json:"first_token_ms"`
	Outcomes   Outcomes  `json:"outcomes"`
	Failed     int       `json:"failed"`
	RougeL     *Estimate `json:"rouge_l,omitempty"`
	BLEU       *Estimate `json:"bleu,omitempty"`
	Wrong      *Rate     `json:"wrong_served,omitempty"`
	Evicted    float64   `json:"evicted"` // per user, for questions asked once
	IdleTokens float64   `json:"idle_tokens"`
	LimitBytes int64     `json:"limit_bytes"` // for its tensors; 0: no limit
}

// sweeps groups the variants, in the order of the run.
func (data *runData) sweeps(r *Report) []Sweep {
	all := []Sweep{}
	for i := range data.run.Systems {
		s := &data.run.Systems[i]
		if s.Of == "" || s.Key == "" {
			continue
		}
		at := slices.IndexFunc(all, func(w Sweep) bool { return w.Of == s.Of && w.Key == s.Key })
		if at < 0 {
			at, all = len(all), append(all, Sweep{Of: s.Of, Key: s.Key})
		}
		all[at].Rows = append(all[at].Rows, data.variant(s, &r.find(s.Name).All))
	}
	for _, w := range all {
		slices.SortStableFunc(w.Rows, func(x, y Variant) int { return cmp.Compare(x.Value, y.Value) })
	}
	return all
}

func (data *runData) variant(s *eval.System, t *Totals) Variant {
	v := Variant{
		System: s.Name, Value: s.Value, Label: label(s), Latency: t.Latency.Estimate, FirstToken: t.FirstToken.Estimate, Outcomes: t.Outcomes,
		Failed: t.Failed, Wrong: t.Bank.Wrong, Evicted: t.Storage.Evicted, IdleTokens: t.Idle.Tokens, LimitBytes: data.run.Plan.LimitBytes,
	}
	if q := t.Quality; q != nil {
		v.RougeL, v.BLEU = &q.RougeL, &q.BLEU
	}
	if limit := s.Settings.TensorLimit; limit != nil {
		v.LimitBytes = *limit
	}
	return v
}

func label(s *eval.System) string {
	if _, behind, ok := strings.Cut(s.Name, "@"); ok {
		return behind
	}
	return fmt.Sprintf("%s=%g", s.Key, s.Value)
}
