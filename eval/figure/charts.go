package figure

import (
	"fmt"

	"github.com/percached/percached/eval"
)

// subject is something that charts show, and how they are made of a run: or, if the
// run has not what it takes, why.
type subject struct {
	paper, what string
	make        func(*run) (charts []Chart, why string)
}

// subjects are in the paper's order, with what is not in it behind.
func subjects() []subject {
	return []subject{
		{"Figures 2, 3, 5 and 6", "likeness of questions", likeness},
		{"Figures 2, 3, 5 and 6", "how often a chunk is used", chunkUse},
		{"Figures 2, 3, 5 and 6", "overlap of prompts", overlap},
		{"Figure 4", "one question with one cache", oneCache},
		{"Figure 11", "latency by question and stage", byQuestion},
		{"Figure 12", "one question walked through", walked},
		{"Figure 13", "share of projections", projections},
		{"Figure 14", "latency by system and user", byUser},
		{"Figure 15", "cases of scheduling", cases},
		{"Figure 16", "ablation", ablation},
		{"Figure 17", "stride of prediction", strides},
		{"Figure 18", "limit of storage", limits},
		{"Figure 19", "threshold of similarity", thresholds},
		{"Figure 20", "cost of population", population},
		{"Figure 23", "quality of answers", quality},
		{"Table 1", "overhead", overhead},
		{"", "time to the first token", byFirstToken},
		{"", "stored answers that were wrong", wrongServed},
		{"", "tokens computed and reused", tokens},
	}
}

// Charts are those that a run has the data for.
func Charts(r *eval.Results) (charts []Chart) {
	run := open(r)
	for _, s := range subjects() {
		made, _ := s.make(run)
		for _, c := range made {
			c.Paper = s.paper
			charts = append(charts, c)
		}
	}
	return charts
}

// Missing names what Charts has no chart of, and says why.
func Missing(r *eval.Results) (lines []string) {
	run := open(r)
	run.sketched = true
	for _, s := range subjects() {
		if made, why := s.make(run); len(made) == 0 {
			name := s.what
			if s.paper != "" {
				name = fmt.Sprintf("%s (%s)", s.paper, s.what)
			}
			lines = append(lines, name+": "+why)
		}
	}
	return append(lines, "Figures 21 and 22 (machines, models): they set runs side by side, and this is one run")
}
