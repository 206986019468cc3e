package measure

import "strings"

// Draws says which questions hang together, so that a bootstrap draws them as one: a
// question with its paraphrases, and all questions of a user that have the same text.
// All have to be added before Of tells anything.
type Draws struct {
	parents   []int
	questions map[numbered]int
	texts     map[wording]int
}

type numbered struct {
	user   string
	number int
}

type wording struct{ user, text string }

// NewDraws has no questions yet.
func NewDraws() *Draws { return &Draws{questions: map[numbered]int{}, texts: map[wording]int{}} }

// Fold is what two texts have in common that are the same but for case and the space
// around them.
func Fold(text string) string { return strings.ToLower(strings.TrimSpace(text)) }

// Add enters a text by which a user's question was asked: its own, or a paraphrase. An
// empty text is nobody's.
func (d *Draws) Add(user string, number int, text string) {
	question := numbered{user, number}
	own, ok := d.questions[question]
	if !ok {
		own = len(d.parents)
		d.parents, d.questions[question] = append(d.parents, own), own
	}
	same := wording{user, Fold(text)}
	if same.text == "" {
		return
	}
	other, ok := d.texts[same]
	if !ok {
		d.texts[same] = own
		return
	}
	a, b := d.root(own), d.root(other)
	d.parents[max(a, b)] = min(a, b)
}

// Of is the number of the draw that a question belongs to.
func (d *Draws) Of(user string, number int) int {
	at, ok := d.questions[numbered{user, number}]
	if !ok {
		return -1
	}
	return d.root(at)
}

func (d *Draws) root(at int) int {
	for d.parents[at] != at {
		at = d.parents[at]
	}
	return at
}

// Clusters puts values of the same draw together, in the order of the first of each.
func Clusters[V any](values []V, draws []int) (clusters [][]V) {
	at := map[int]int{}
	for i, draw := range draws {
		where, ok := at[draw]
		if !ok {
			where = len(clusters)
			at[draw], clusters = where, append(clusters, nil)
		}
		clusters[where] = append(clusters[where], values[i])
	}
	return clusters
}
