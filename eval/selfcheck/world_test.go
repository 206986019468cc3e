package selfcheck

import (
	"strings"
	"testing"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
)

// lengths are the token counts of an invented percached.
const (
	instructions = 20
	generated    = 4
)

// prompts has for each question the lengths of its two chunks and its own.
func prompts() [][3]int {
	heron, castings, vet, cat, boiler, cellar := 30, 41, 25, 36, 33, 27
	return [][3]int{
		{heron, castings, 11},
		{vet, cat, 12},
		{heron, castings, 11},
		{castings, heron, 14},
		{heron, castings, 15},
		{vet, cat, 16},
		{cat, vet, 17},
		{boiler, cellar, 18},
		{boiler, cellar, 19},
	}
}

// perfect are the expected results of an invented percached, not those of a run.
func perfect(t *testing.T) *eval.Results {
	t.Helper()
	chosen, err := Systems()
	if err != nil {
		t.Fatal(err)
	}
	r := &eval.Results{Run: eval.Run{
		Layout: eval.Layout, Dataset: "selfcheck", Plan: Plan(), Systems: chosen,
		Model: client.AboutModel{Context: 2048, Shape: client.ModelShape{
			Layers: 8, Width: 256, Heads: 4, HeadsKV: 2, HeadSize: 64, FeedForward: 384, Vocabulary: 4096, BytesPerToken: 4108,
		}},
		Users: []eval.User{{Name: "tiny", Kind: "notes", Files: 6, Questions: 9}},
	}}
	u := eval.Unit{Repeat: 1, User: "tiny", Documents: 6, Chunks: 6}
	for i, q := range questions() {
		u.Asked = append(u.Asked, eval.Asked{Number: i + 1, Text: q.text, Gold: []string{q.gold}, Located: true})
		row := []float64{}
		for j := range i {
			row = append(row, map[bool]float64{true: 0.9, false: 0.4}[similar(j+1, i+1)])
		}
		u.Likeness = append(u.Likeness, row)
	}
	for _, s := range chosen {
		u.Results = append(u.Results, result(s))
	}
	r.Units = []eval.Unit{u}
	return r
}

// result is what a system does.
func result(s eval.System) eval.Result {
	var w want
	for _, one := range expectations() {
		if one.system == s.Name {
			w = one
		}
	}
	if w.idle { // it predicts, and none of that is asked
		w.came, w.from = "mmamaammm", served
		if s.Name == "percached" {
			w.came, w.from = "mmamatmmm", guards
		}
	}
	r := eval.Result{System: s.Name, Slices: w.slices, Entries: w.entries}
	if w.idle {
		r.Before = eval.Work{Computed: 500, Generated: 100}
	}
	for i, came := range w.came {
		from := i
		if w.from != "" {
			from = int(w.from[i] - '1')
		}
		a := eval.Answer{Text: questions()[from].gold, Recalled: new(!s.Poisoned), FirstMS: 1, TotalMS: 2}
		if s.Poisoned {
			a.Text = questions()[7].gold // Tuesday
			if i == 7 {
				a.Text = questions()[0].gold
			}
		}
		switch came {
		case hit:
			a.Outcome, a.Origin = client.OutcomeAnswerHit, "asked"
		default:
			computed(&a, &s, i, came == tensor)
		}
		if kept := s.Settings.Tensors; kept != nil && *kept && came == miss {
			a.Written = int64(a.Tokens.Computed-prompts()[i][2]) * 4108
			r.TensorBytes += a.Written
		}
		a.TensorBytes = r.TensorBytes
		r.Answers = append(r.Answers, a)
	}
	return r
}

// computed counts the tokens of an answer.
func computed(a *eval.Answer, s *eval.System, i int, stored bool) {
	p := prompts()[i]
	prompt, reused := instructions+p[0]+p[1]+p[2], 0
	a.Outcome, a.Reuse = client.OutcomeMiss, client.Reuse{All: 2}
	switch {
	case stored:
		a.Outcome, a.Reuse.Stored = client.OutcomeTensorHit, 2
		reused = prompt - p[2]
	case *s.Settings.Tensors && i > 0:
		reused = instructions
	}
	a.Tokens = client.TokenCounts{Prompt: prompt, Reused: reused, Computed: prompt - reused, Generated: generated}
	for at := reused; at < prompt+generated; at++ {
		a.Tokens.Attended += int64(at + 1)
		if second := at >= instructions+p[0] && at < instructions+p[0]+p[1]; second && strings.Contains(string(*s.Settings.Placement), "parallel") {
			a.Tokens.Attended -= int64(p[0])
		}
	}
}
