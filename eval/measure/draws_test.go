package measure_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/eval/measure"
)

// Ana's questions 1, 3 and 4 are one draw: 3 has the text of 1, and 4 that of a
// paraphrase of 3. What Bo asks is his own, and what has no text stands for itself.
func TestDraws(t *testing.T) {
	d := measure.NewDraws()
	for _, q := range []struct {
		user   string
		number int
		text   string
	}{
		{"ana", 1, "Who pays the rent?"},
		{"ana", 2, "Who pays?"},
		{"ana", 3, "And whose is the rent?"},
		{"ana", 4, "The rent: who?"},
		{"ana", 3, " who PAYS the rent?\n"},
		{"ana", 3, "the rent: who?"},
		{"ana", 5, ""},
		{"ana", 6, " "},
		{"bo", 1, "Who pays the rent?"},
	} {
		d.Add(q.user, q.number, q.text)
	}
	of := func(user string, number int) int { return d.Of(user, number) }
	got := []int{of("ana", 1), of("ana", 2), of("ana", 3), of("ana", 4), of("ana", 5), of("ana", 6), of("bo", 1), of("cy", 1)}
	if d := cmp.Diff([]int{0, 1, 0, 0, 4, 5, 6, -1}, got); d != "" {
		t.Error(d)
	}
	values := []float64{10, 20, 30, 40}
	if d := cmp.Diff([][]float64{{10, 30}, {20}, {40}}, measure.Clusters(values, []int{7, 0, 7, 3})); d != "" {
		t.Error(d)
	}
}
