package figure

import (
	"fmt"
	"image/color"
	"slices"
	"strings"

	"github.com/percached/percached/eval/measure"
)

const (
	noAnswers    = "no system has answered a question yet"
	meansOfTimes = "Means with 95 % intervals by bootstrap over questions. The repeats of a question count as their median."
)

// byUser is the average latency of each system: over all users, and for each.
func byUser(r *run) ([]Chart, string) {
	return r.overUsers("latency-by-user", "Average latency by system, misses included", r.own(), latency,
		meansOfTimes)
}

// byFirstToken is the same for the time to the first token.
func byFirstToken(r *run) ([]Chart, string) {
	return r.overUsers("first-token", "Average time to the first token by system, misses included", r.own(), firstToken,
		meansOfTimes)
}

// ablation is the latency of percached with each of its parts left out.
func ablation(r *run) ([]Chart, string) {
	var parts []string
	for _, name := range r.own() {
		if strings.HasPrefix(name, "percached-no-") {
			parts = append(parts, name)
		}
	}
	full := r.those("percached")
	if len(parts) == 0 || len(full) == 0 {
		return nil, "it takes percached and one of percached-no-bank, percached-no-tensors, percached-no-prediction, percached-no-idle; --systems all has them"
	}
	return r.overUsers("ablation", "What each part of percached brings: average latency without it", append(full, parts...), latency,
		meansOfTimes)
}

const mostPanels = 11 // for one user each

// overUsers is a mean for each system: a panel for all users, and if there is more
// than one, for each.
func (r *run) overUsers(id, title string, names []string, of value, note string) ([]Chart, string) {
	users := r.users()
	panels := []string{""}
	if len(users) > 1 {
		panels = append(panels, users[:min(len(users), mostPanels)]...)
	}
	if len(users) > mostPanels {
		note += fmt.Sprintf(" The first %d of %d users have a panel of their own.", mostPanels, len(users))
	}
	c := Chart{ID: id, Title: title, Columns: min(3, len(panels)), Note: note}
	some := false
	for _, user := range panels {
		p := Panel{Title: user, XLabel: "ms", Kind: Grouped, Horizontal: true, Numbers: true, Labels: names, Colours: coloursOf(names)}
		switch {
		case user != "":
		case len(users) > 1:
			p.Title = fmt.Sprintf("all %d users", len(users))
		case len(users) == 1:
			p.Title = users[0]
		}
		var means []spread
		for _, name := range names {
			m := r.times(r.answers(name, user), of)
			some = some || m.n > 0
			means = append(means, m)
		}
		p.Series = []Series{spreads("", means)}
		c.Panels = append(c.Panels, p)
	}
	if !some {
		return nil, noAnswers
	}
	level(c.Panels)
	c.Note += r.failed(names)
	return []Chart{c}, ""
}

// failed says for a note how many answers failed.
func (r *run) failed(names []string) string {
	var said []string
	for _, name := range names {
		list := r.answers(name, "")
		if n := failures(list); n > 0 {
			said = append(said, fmt.Sprintf("%s %d of %d", name, n, len(list)))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return " Failed, and left out: " + strings.Join(said, ", ") + "."
}

func coloursOf(names []string) (list []color.Color) {
	for _, n := range names {
		list = append(list, systemColour(n))
	}
	return list
}

// best is the system of some with the lowest average latency; empty: none answered.
func (r *run) best(names []string) string {
	best, least := "", 0.0
	for _, name := range names {
		all := slices.Concat(gather(r.answers(name, ""), latency, measure.Median)...)
		if m := measure.Mean(all); len(all) > 0 && (best == "" || m < least) {
			best, least = name, m
		}
	}
	return best
}

// baselines are the systems of others that cache.
func (r *run) baselines() []string {
	return r.those("ragcache", "meancache", "sleep-time", "ragcache+meancache", "ragcache+sleep-time")
}
