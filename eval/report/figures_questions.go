package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/percached/percached/eval"
)

const (
	mostUsers = 8 // with a line each
	noChunks  = "naive's answers do not say which chunks they rest on"
)

// similarity shows how similar the questions of a user are to each other.
func (m *figureMaker) similarity() ([]eval.Figure, string) {
	var nearest, pairs []eval.Series
	var allNearest, allPairs []float64
	for _, user := range m.doneUsers() {
		var near, all []float64
		for _, row := range m.firstUnit(user).Likeness {
			if len(row) > 0 {
				near, all = append(near, slices.Max(row)), append(all, row...)
			}
		}
		if len(near) == 0 {
			continue
		}
		allNearest, allPairs = append(allNearest, near...), append(allPairs, all...)
		nearest, pairs = append(nearest, distribution(user, near)), append(pairs, distribution(user, all))
	}
	if len(nearest) == 0 {
		return nil, "the run has no similarity of questions"
	}
	f := eval.Figure{ID: "likeness", Title: "How alike the questions of a user are", Note: "Cosine of the questions' embeddings, made by the embedding model of the run."}
	switch n := len(nearest); {
	case n == 1:
		nearest, pairs = nil, nil
	case n > mostUsers:
		f.Note += fmt.Sprintf(" The first %d of %d users have a line of their own.", mostUsers, n)
		nearest, pairs = nearest[:mostUsers], pairs[:mostUsers]
	}
	f.Panels = []eval.Panel{
		{Title: "to the nearest earlier question", XLabel: "cosine", YLabel: "share of questions", Kind: eval.Lines, Series: append(nearest, distribution("all users", allNearest))},
		{Title: "between any two questions", XLabel: "cosine", YLabel: "share of pairs", Kind: eval.Lines, Series: append(pairs, distribution("all users", allPairs))},
	}
	figures := []eval.Figure{f}
	if f := m.similarityMap(); len(f.Panels) > 0 {
		figures = append(figures, f)
	}
	return figures, ""
}

// similarityMap shows how similar any two questions of the first users are.
func (m *figureMaker) similarityMap() eval.Figure {
	f := eval.Figure{
		ID: "likeness-map", Title: "How alike any two questions of a user are", Columns: 2,
		Note: "Cosine of the questions' embeddings, from 0 (dark) to 1 (light). Questions are in the order in which they were asked. A cosine below 0 is shown as 0.",
	}
	users := m.doneUsers()
	for _, user := range users {
		if rows := m.firstUnit(user).Likeness; len(rows) > 1 && len(f.Panels) < f.Columns {
			f.Panels = append(f.Panels, eval.Panel{Title: user, XLabel: "question", YLabel: "earlier question", Kind: eval.Heat, Cells: similarityCells(rows)})
		}
	}
	if len(users) > len(f.Panels) {
		f.Note += fmt.Sprintf(" %d of %d users.", len(f.Panels), len(users))
	}
	return f
}

// similarityCells has the earlier question as the row and the later one as the column.
func similarityCells(likeness [][]float64) [][]float64 {
	cells := make([][]float64, len(likeness))
	for row := range cells {
		cells[row] = make([]float64, len(likeness))
		for column := range cells[row] {
			switch {
			case row == column:
				cells[row][column] = 1
			case column > row && row < len(likeness[column]):
				cells[row][column] = max(0, likeness[column][row])
			default:
				cells[row][column] = math.NaN()
			}
		}
	}
	return cells
}

// distribution is the share of values that are at most x. Long lists are thinned.
func distribution(name string, values []float64) eval.Series {
	const most = 100
	sorted := slices.Sorted(slices.Values(values))
	n := min(len(sorted), most)
	s := eval.Series{Name: name}
	for i := range n {
		at := (i+1)*len(sorted)/n - 1
		s.X, s.Y = append(s.X, sorted[at]), append(s.Y, float64(at+1)/float64(len(sorted)))
	}
	return s
}

// found are the chunks that each question of a user finds, in the order of asking.
func (m *figureMaker) found(user string) (lists [][]string) {
	for _, name := range m.present("naive", "naive-parallel") {
		for _, a := range m.inUnit(m.firstUnit(user), name) {
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

// inUnit are the responses of a system in one unit.
func (data *runData) inUnit(u *eval.Unit, system string) (in []*response) {
	all := data.responses[system]
	for i := range all {
		if a := &all[i]; a.repeat == u.Repeat && a.key.user == u.User {
			in = append(in, a)
		}
	}
	return in
}

// chunkUse is the share of a user's questions that find each chunk.
func (m *figureMaker) chunkUse() ([]eval.Figure, string) {
	p := eval.Panel{XLabel: "chunks, the most used first", YLabel: "share of questions", Kind: eval.Lines}
	f := eval.Figure{ID: "chunk-use", Title: "How many of a user's questions find the same chunk", Note: "Chunks that no question found are left out."}
	users := 0
	for _, user := range m.doneUsers() {
		lists := m.found(user)
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
		var all []int
		for _, n := range counts {
			all = append(all, n)
		}
		slices.Sort(all)
		slices.Reverse(all)
		s := eval.Series{Name: user}
		for i, n := range all {
			s.X, s.Y = append(s.X, float64(i+1)), append(s.Y, per(n, len(lists)))
		}
		p.Series = append(p.Series, s)
		f.Note += fmt.Sprintf(" %s: %d of %d chunks were found.", user, len(all), m.firstUnit(user).Chunks)
	}
	if users == 0 {
		return nil, noChunks
	}
	if users > mostUsers {
		f.Note += fmt.Sprintf(" The first %d of %d users.", mostUsers, users)
	}
	f.Panels = []eval.Panel{p}
	return []eval.Figure{f}, ""
}

// overlap is the share of questions whose prompt begins like that of an earlier question.
func (m *figureMaker) overlap() ([]eval.Figure, string) {
	p := eval.Panel{XLabel: "share", Kind: eval.Bars, Horizontal: true, Top: 1.2, Labels: []string{"first chunk", "first 2", "first 3"}}
	p.Series = []eval.Series{{Name: "in the same order"}, {Name: "in any order"}, {Name: "each chunk by itself"}}
	some := false
	for k := 1; k <= len(p.Labels); k++ {
		var sums [3]float64
		n := 0.0
		for _, user := range m.doneUsers() {
			lists := m.found(user)
			for i, list := range lists {
				if i == 0 || len(list) < k {
					continue
				}
				for j, v := range overlaps(list[:k], lists[:i]) {
					sums[j] += v
				}
				n++
			}
		}
		some = some || n > 0
		for j, sum := range sums {
			p.Series[j].Y = append(p.Series[j].Y, sum/n) // NaN of no questions
		}
	}
	if !some {
		return nil, noChunks + ", or no user asked twice"
	}
	return []eval.Figure{{
		ID: "overlap", Title: "Prompts that begin with the chunks of an earlier question", Panels: []eval.Panel{p},
		Note: "Share of a user's questions, without the first, whose first chunks were the first chunks of an earlier question. Each chunk by itself: the share of those chunks that any earlier question found.",
	}}, ""
}

// overlaps says whether an earlier prompt began with these chunks, in this order and in
// any order, and what share of them any earlier prompt had.
func overlaps(first []string, earlier [][]string) (shares [3]float64) {
	seen := map[string]bool{}
	for _, e := range earlier {
		for _, chunk := range e {
			seen[chunk] = true
		}
		if len(e) < len(first) {
			continue
		}
		head := e[:len(first)]
		if slices.Equal(head, first) {
			shares[0] = 1
		}
		if slices.Equal(slices.Sorted(slices.Values(head)), slices.Sorted(slices.Values(first))) {
			shares[1] = 1
		}
	}
	for _, chunk := range first {
		if seen[chunk] {
			shares[2] += 1 / float64(len(first))
		}
	}
	return shares
}
