package figure

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

const mostUsers = 8 // with a line each

// likeness is how alike the questions of a user are.
func likeness(r *run) ([]Chart, string) {
	nearest, pairs := Series{Name: "all users", Colour: rgb(ink)}, Series{Name: "all users", Colour: rgb(ink)}
	var near, all []Series
	for i, user := range r.users() {
		n, p := Series{Name: user, Colour: other(i)}, Series{Name: user, Colour: other(i)}
		for _, row := range r.first(user).Likeness {
			if len(row) > 0 {
				n.Y, p.Y = append(n.Y, slices.Max(row)), append(p.Y, row...)
			}
		}
		if len(n.Y) == 0 {
			continue
		}
		nearest.Y, pairs.Y = append(nearest.Y, n.Y...), append(pairs.Y, p.Y...)
		near, all = append(near, n), append(all, p)
	}
	if len(near) == 0 {
		return nil, "the run has no likeness of questions"
	}
	c := Chart{ID: "likeness", Title: "How alike the questions of a user are", Note: "Cosine of the questions' vectors, as the embedder of the run makes them."}
	switch {
	case len(near) == 1:
		near, all = nil, nil
	case len(near) > mostUsers:
		c.Note += fmt.Sprintf(" The first %d of %d users have a line of their own.", mostUsers, len(near))
		near, all = near[:mostUsers], all[:mostUsers]
	}
	c.Panels = []Panel{
		{Title: "to the nearest earlier question", XLabel: "cosine", YLabel: "share of questions", Kind: Cumulative, Series: thinned(append(near, nearest))},
		{Title: "between any two", XLabel: "cosine", YLabel: "share of pairs", Kind: Cumulative, Series: thinned(append(all, pairs))},
	}
	charts := []Chart{c}
	if m := atlas(r); len(m.Panels) > 0 {
		charts = append(charts, m)
	}
	return charts, ""
}

// atlas shows how alike any two questions of the first users are.
func atlas(r *run) Chart {
	c := Chart{
		ID: "likeness-map", Title: "How alike any two questions of a user are", Columns: 2,
		Note: "Cosine of the questions' vectors; questions in the order in which they were asked. Less than 0 is shown as 0.",
	}
	users := r.users()
	for _, user := range users {
		if likeness := r.first(user).Likeness; len(likeness) > 1 && len(c.Panels) < c.Columns {
			c.Panels = append(c.Panels, Panel{Title: user, XLabel: "question", YLabel: "earlier question", Kind: Heat, Cells: cells(likeness)})
		}
	}
	if len(users) > len(c.Panels) {
		c.Note += fmt.Sprintf(" %d of %d users.", len(c.Panels), len(users))
	}
	return c
}

// cells are those of a map, with the later question to the right.
func cells(likeness [][]float64) [][]float64 {
	cells := make([][]float64, len(likeness))
	for i := range cells {
		cells[i] = make([]float64, len(likeness))
		for j := range cells[i] {
			switch {
			case i == j:
				cells[i][j] = 1
			case j > i && i < len(likeness[j]):
				cells[i][j] = likeness[j][i]
			default:
				cells[i][j] = math.NaN()
			}
		}
	}
	return cells
}

const mostSteps = 500 // of a cumulative line

// thinned keeps the form of long lines with fewer values: each then stands for
// equally many.
func thinned(list []Series) []Series {
	for i := range list {
		if n := len(list[i].Y); n > mostSteps {
			sorted := slices.Sorted(slices.Values(list[i].Y))
			few := make([]float64, mostSteps)
			for k := range few {
				few[k] = sorted[k*(n-1)/(mostSteps-1)]
			}
			list[i].Y = few
		}
	}
	return list
}

// found are the chunks that a user's questions find, in the order of asking.
func (r *run) found(user string) (lists [][]string) {
	for _, name := range r.those("naive", "naive-parallel") {
		for _, a := range r.answersIn(r.first(user), name) {
			if !a.failed() && len(a.answer.Chunks) > 0 {
				lists = append(lists, a.answer.Chunks)
			}
		}
		if len(lists) > 0 {
			return lists
		}
	}
	return nil
}

const noChunks = "naive's answers do not say which chunks they rest on"

// chunkUse is how often each chunk is among those that a question finds.
func chunkUse(r *run) ([]Chart, string) {
	p := Panel{XLabel: "chunks, the most used first", YLabel: "share of questions", Kind: Lines}
	c := Chart{ID: "chunk-use", Title: "How many of a user's questions find the same chunk", Note: "Chunks that no question found are left out:"}
	users := 0
	for i, user := range r.users() {
		lists := r.found(user)
		if len(lists) == 0 {
			continue
		}
		if users++; users > mostUsers {
			continue
		}
		counts := map[string]int{}
		for _, list := range lists {
			for _, chunk := range slices.Compact(slices.Sorted(slices.Values(list))) {
				counts[chunk]++
			}
		}
		s := Series{Name: user, Colour: other(i)}
		var all []int
		for _, n := range counts {
			all = append(all, n)
		}
		slices.SortFunc(all, func(a, b int) int { return cmp.Compare(b, a) })
		for rank, n := range all {
			s.X, s.Y = append(s.X, float64(rank+1)), append(s.Y, float64(n)/float64(len(lists)))
		}
		p.Series = append(p.Series, s)
		c.Note += fmt.Sprintf(" %s found %d of %d;", user, len(all), r.first(user).Chunks)
	}
	if users == 0 {
		return nil, noChunks
	}
	c.Note = c.Note[:len(c.Note)-1] + "."
	if users > mostUsers {
		c.Note += fmt.Sprintf(" The first %d of %d users.", mostUsers, users)
	}
	c.Panels = []Panel{p}
	return []Chart{c}, ""
}

// overlap is how many questions begin their prompt like an earlier one.
func overlap(r *run) ([]Chart, string) {
	const most = 3
	p := Panel{YLabel: "share", Kind: Grouped, Numbers: true, Top: 1.1}
	p.Series = []Series{
		{Name: "in the same order", Colour: other(0)},
		{Name: "in any order", Colour: other(4)},
		{Name: "each chunk for itself", Colour: other(1)},
	}
	some := false
	for k := 1; k <= most; k++ {
		p.Labels = append(p.Labels, fmt.Sprintf("first %d", k))
		ordered, as, each, n := 0.0, 0.0, 0.0, 0.0
		for _, user := range r.users() {
			lists := r.found(user)
			for i, list := range lists {
				if i == 0 || len(list) < k {
					continue
				}
				o, s, e := alike(list[:k], lists[:i])
				ordered, as, each, n = ordered+share(o), as+share(s), each+e, n+1
			}
		}
		some = some || n > 0
		for i, sum := range []float64{ordered, as, each} {
			v := math.NaN()
			if n > 0 {
				v = sum / n
			}
			p.Series[i].Y = append(p.Series[i].Y, v)
		}
	}
	p.Labels[0] = "first chunk"
	if !some {
		return nil, noChunks + ", or no user asked twice"
	}
	return []Chart{{
		ID: "overlap", Title: "Prompts that begin with the chunks of an earlier question", Panels: []Panel{p},
		Note: "Share of a user's questions, but for the first one, whose first chunks were the first ones of an earlier question; and the share of those chunks that any earlier question found at all, each for itself.",
	}}, ""
}

// alike says whether chunks stood first in an earlier prompt, in this order or in any,
// and what share of them stood in one at all.
func alike(first []string, earlier [][]string) (ordered, asSet bool, each float64) {
	sorted := slices.Sorted(slices.Values(first))
	seen := map[string]bool{}
	for _, e := range earlier {
		for _, chunk := range e {
			seen[chunk] = true
		}
		if len(e) < len(first) {
			continue
		}
		head := e[:len(first)]
		ordered = ordered || slices.Equal(head, first)
		asSet = asSet || slices.Equal(slices.Sorted(slices.Values(head)), sorted)
	}
	for _, chunk := range first {
		each += share(seen[chunk]) / float64(len(first))
	}
	return ordered, asSet, each
}
