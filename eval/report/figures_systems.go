package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/systems"
)

const (
	noAnswers    = "no system has answered a question yet"
	meansOfTimes = "Means with 95 % intervals by a bootstrap over users and their questions. The repeats of a question count as their median."
)

// barsOf is a panel of bars, one for each system.
func barsOf(title, unit string, names []string, of func(name string) *Estimate) eval.Panel {
	s := eval.Series{}
	for _, name := range names {
		addEstimate(&s, of(name))
	}
	return eval.Panel{Title: title, XLabel: unit, Kind: eval.Bars, Horizontal: true, Labels: names, Series: []eval.Series{s}}
}

// addEstimate adds a mean and its interval to a series. Nil is no value.
func addEstimate(s *eval.Series, e *Estimate) {
	nan := math.NaN()
	v := [3]float64{nan, nan, nan}
	if e != nil && e.Of > 0 {
		v = [3]float64{e.Mean, e.Low, e.High}
	}
	s.Y, s.Low, s.High = append(s.Y, v[0]), append(s.Low, v[1]), append(s.High, v[2])
}

// sameScale gives panels of bars the same end of the value axis.
func sameScale(panels []eval.Panel) {
	top := 0.0
	for i := range panels {
		top = max(top, panels[i].Highest()*1.2)
	}
	for i := range panels {
		panels[i].Top = top
	}
}

// plainSystems are the systems that are not variants.
func (m *figureMaker) plainSystems() (names []string) {
	for i := range m.report.Systems {
		if m.report.Systems[i].Of == "" {
			names = append(names, m.report.Systems[i].Name)
		}
	}
	return names
}

// present are the systems of some names that the run has.
func (m *figureMaker) present(names ...string) (in []string) {
	for _, name := range names {
		if has(m.run, name) {
			in = append(in, name)
		}
	}
	return in
}

// doneUsers are the users of whom at least one unit is done.
func (m *figureMaker) doneUsers() (names []string) {
	for _, user := range m.users {
		if m.firstUnit(user) != nil {
			names = append(names, user)
		}
	}
	return names
}

// firstUnit is a user's first unit; nil: none is done.
func (m *figureMaker) firstUnit(user string) *eval.Unit {
	for _, u := range m.units {
		if u.User == user {
			return u
		}
	}
	return nil
}

func (m *figureMaker) byUser() ([]eval.Figure, string) {
	return m.overUsers("latency-by-user", "Average latency by system, misses included", m.plainSystems(), func(t *Totals) *Estimate { return &t.Latency.Estimate })
}

func (m *figureMaker) byFirstToken() ([]eval.Figure, string) {
	return m.overUsers("first-token", "Average time to the first token by system, misses included", m.plainSystems(), func(t *Totals) *Estimate { return &t.FirstToken.Estimate })
}

// ablation is the latency of percached without each of its parts.
func (m *figureMaker) ablation() ([]eval.Figure, string) {
	names := m.present(systems.Percached)
	for _, name := range m.plainSystems() {
		if strings.HasPrefix(name, "percached-no-") {
			names = append(names, name)
		}
	}
	if len(names) < 2 || names[0] != systems.Percached {
		return nil, "it needs percached and one of percached-no-bank, percached-no-tensors, percached-no-drafts, percached-no-prediction, percached-no-idle; --systems all includes them"
	}
	return m.overUsers("ablation", "What each part of percached brings: average latency without it", names, func(t *Totals) *Estimate { return &t.Latency.Estimate })
}

// overUsers shows a mean for each system: a panel for all users, and one for each user
// if there are several.
func (m *figureMaker) overUsers(id, title string, names []string, of func(*Totals) *Estimate) ([]eval.Figure, string) {
	const mostPanels = 11
	users := m.doneUsers()
	f := eval.Figure{ID: id, Title: title, Note: meansOfTimes}
	all := fmt.Sprintf("all %d users", len(users))
	if len(users) == 1 {
		all = users[0]
	}
	found := 0
	f.Panels = []eval.Panel{barsOf(all, "ms", names, func(name string) *Estimate {
		e := of(&m.report.find(name).All)
		found += e.Of
		return e
	})}
	if len(users) > 1 {
		for _, user := range users[:min(len(users), mostPanels)] {
			f.Panels = append(f.Panels, barsOf(user, "ms", names, func(name string) *Estimate { return m.report.find(name).ofUser(user, of) }))
		}
	}
	if len(users) > mostPanels {
		f.Note += fmt.Sprintf(" The first %d of %d users have a panel of their own.", mostPanels, len(users))
	}
	if found == 0 {
		return nil, noAnswers
	}
	f.Columns = min(3, len(f.Panels))
	sameScale(f.Panels)
	f.Note += m.failedNote(names)
	return []eval.Figure{f}, ""
}

// ofUser is an estimate for one user; nil: the user has no answers.
func (s *System) ofUser(user string, of func(*Totals) *Estimate) *Estimate {
	for i := range s.Users {
		if s.Users[i].User == user {
			return of(&s.Users[i].Totals)
		}
	}
	return nil
}

// failedNote counts for a note the answers that failed.
func (m *figureMaker) failedNote(names []string) string {
	var failed []string
	for _, name := range names {
		if t := &m.report.find(name).All; t.Failed > 0 {
			failed = append(failed, fmt.Sprintf("%s %d of %d", name, t.Failed, t.Asked))
		}
	}
	if len(failed) == 0 {
		return ""
	}
	return " Failed and left out: " + strings.Join(failed, ", ") + "."
}

// noQuality says why the run has no quality; empty: it has.
func (data *runData) noQuality() string {
	switch {
	case data.run.Plan.NoQuality:
		return "The model's answers mean nothing, so there is no quality."
	case !data.gold():
		return "No question's right answer is known, so there is no quality."
	}
	return ""
}

func (m *figureMaker) quality() ([]eval.Figure, string) {
	if why := m.noQuality(); why != "" {
		return nil, why
	}
	f := eval.Figure{
		ID: "quality", Title: "Quality of answers by system", Columns: 2,
		Note: "Means over questions with a known right answer, with 95 % intervals by a bootstrap over users and their questions. A failed answer counts as 0.",
	}
	found := 0
	for _, one := range []struct {
		name string
		of   func(*Quality) *Estimate
	}{
		{"ROUGE-L", func(q *Quality) *Estimate { return &q.RougeL }},
		{"BLEU", func(q *Quality) *Estimate { return &q.BLEU }},
		{"contains a right answer", func(q *Quality) *Estimate { return &q.Contains }},
		{"F1", func(q *Quality) *Estimate { return &q.F1 }},
	} {
		f.Panels = append(f.Panels, barsOf(one.name, "", m.plainSystems(), func(name string) *Estimate {
			q := m.report.find(name).All.Quality
			if q == nil {
				return nil
			}
			found += one.of(q).Of
			return one.of(q)
		}))
	}
	if found == 0 {
		return nil, noAnswers
	}
	return []eval.Figure{f}, ""
}

// wrongServed is the share of served stored answers that contradict the computed answer.
func (m *figureMaker) wrongServed() ([]eval.Figure, string) {
	if m.run.Plan.NoQuality {
		return nil, m.noQuality()
	}
	var labels, none []string
	s := eval.Series{}
	unchecked := 0
	for _, name := range m.plainSystems() {
		bank := &m.report.find(name).All.Bank
		unchecked += bank.Served - bank.Checked
		if bank.Wrong == nil {
			none = append(none, name)
			continue
		}
		labels = append(labels, fmt.Sprintf("%s (%d of %d)", name, bank.Wrong.Count, bank.Wrong.Of))
		addEstimate(&s, &Estimate{bank.Wrong.Of, bank.Wrong.Share, bank.Wrong.Interval})
	}
	if len(labels) == 0 {
		return nil, "no stored answer was served that could be checked"
	}
	f := eval.Figure{
		ID: "wrong-served", Title: "Stored answers that contradict the computed one",
		Note: "Share of the stored answers that were served whose numbers, names, dates or negation differ from the system's answer to the same question without a cache. A question counts once, and as wrong if it was wrong in any repeat. 95 % intervals by Wilson.",
		Panels: []eval.Panel{{
			XLabel: "share", Kind: eval.Bars, Horizontal: true, Labels: labels, Series: []eval.Series{s},
		}},
	}
	if unchecked > 0 {
		f.Note += fmt.Sprintf(" Left out: %s without a computed answer to compare with.", plural(unchecked, "question"))
	}
	if len(none) > 0 {
		f.Note += " Systems without such answers: " + strings.Join(none, ", ") + "."
	}
	return []eval.Figure{f}, ""
}
