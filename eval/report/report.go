package report

import (
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/figure"
)

// Report is what a run came to.
type Report struct {
	Header    Header   `json:"header"`
	Headline  Headline `json:"headline"`
	Systems   []System `json:"systems"` // in the order of the run
	Sweeps    []Sweep  `json:"sweeps"`
	Walk      *Walk    `json:"walk,omitempty"`
	Figures   []Figure `json:"figures"`
	NoFigures []string `json:"no_figures"` // what there is no chart of, and why
	Notes     []string `json:"notes"`      // what to know when reading the numbers
	// Files are the tables and drawings that lie beside report.json, with slashes.
	Files     []string   `json:"files,omitempty"`
	Questions []Question `json:"-"` // there are many: tables/questions.csv has them

	charts []figure.Chart
}

// System is what a system came to.
type System struct {
	Name      string    `json:"name"`
	About     string    `json:"about"`
	Of        string    `json:"of,omitempty"`
	Reference string    `json:"reference,omitempty"`
	All       Totals    `json:"all"`
	Users     []PerUser `json:"users"`
}

// PerUser is what it came to for one user.
type PerUser struct {
	User string `json:"user"`
	Totals
}

// Figure names a chart; its files are ID.svg and ID.png.
type Figure struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Paper string `json:"paper"`
	Note  string `json:"note,omitempty"`
}

// Make adds a run up.
func Make(r *eval.Results) *Report {
	b := open(r)
	rep := &Report{
		Header: b.header(), Systems: []System{}, Figures: []Figure{},
		Walk: b.walk(), Questions: b.questions(), charts: figure.Charts(r), NoFigures: append([]string{}, figure.Missing(r)...),
	}
	for i := range r.Run.Systems {
		rep.Systems = append(rep.Systems, b.system(&r.Run.Systems[i]))
	}
	rep.Headline, rep.Sweeps, rep.Notes = b.headline(rep), b.sweeps(rep), b.notes()
	for i := range rep.charts {
		c := &rep.charts[i]
		rep.Figures = append(rep.Figures, Figure{ID: c.ID, Title: c.Title, Paper: c.Paper, Note: c.Note})
	}
	return rep
}

// system adds up one system, over all users and for each.
func (b *book) system(s *eval.System) System {
	all := b.askings[s.Name]
	out := System{Name: s.Name, About: s.About, Of: s.Of, Reference: s.Reference, Users: []PerUser{}}
	out.All = b.totals(s, "", all)
	for _, u := range b.users {
		var own []asking
		for _, a := range all {
			if a.key.user == u {
				own = append(own, a)
			}
		}
		if len(own) > 0 {
			out.Users = append(out.Users, PerUser{u, b.totals(s, u, own)})
		}
	}
	return out
}

// find is the system of a name; nil: the report has none.
func (r *Report) find(name string) *System {
	for i := range r.Systems {
		if r.Systems[i].Name == name {
			return &r.Systems[i]
		}
	}
	return nil
}
