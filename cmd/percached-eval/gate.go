package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/qabank/gate"
	"github.com/percached/percached/qabank/likeness"
)

// gateDefault is the similarity from which GPTCache serves unless it is told otherwise.
const gateDefault = 0.8

// gateQuestion is a line of the input: an asked question and the best stored answer.
type gateQuestion struct {
	ID         string    `json:"id"`
	Entry      string    `json:"entry"` // whose answer it is
	Score      float64   `json:"score"`
	Similarity float64   `json:"similarity"`
	Vector     []float32 `json:"vector"` // of the asked question
	Right      bool      `json:"right"`
}

// gateRow is a line of the table.
type gateRow struct {
	Gate      string  `json:"gate"`
	MaxWrong  float64 `json:"max_wrong"` // 0: the gate has no budget
	Questions int     `json:"questions"`
	Served    int     `json:"served"`
	Wrong     int     `json:"wrong"`
	Share     float64 `json:"share"`
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	HitRate   float64 `json:"hit_rate"`
	Threshold float64 `json:"threshold,omitempty"` // of the similarity
}

// gateReport compares gates over the same questions.
type gateReport struct {
	Rows []gateRow `json:"rows"`
}

// JSON prints the report as JSON.
func (r gateReport) JSON(w io.Writer) error { return cmdline.WriteJSON(w, r) }

// Table prints the report as a table.
func (r gateReport) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "gate\tbudget\tserved\twrong\tshare of wrong\t95 % interval\thit rate")
	for _, x := range r.Rows {
		name, budget, share := x.Gate, "", "-"
		if x.Threshold > 0 {
			name += fmt.Sprintf(" from %.3f", x.Threshold)
		}
		if x.MaxWrong > 0 {
			budget = fmt.Sprint(x.MaxWrong)
		}
		if x.Served > 0 {
			share = fmt.Sprintf("%.4f", x.Share)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%s\t%.4f to %.4f\t%.1f %%\n", name, budget, x.Served, x.Wrong, share, x.Low, x.High, 100*x.HitRate)
	}
	return t.Flush()
}

func gateCommand() *cobra.Command {
	o := gateReplay{budgets: []float64{0.005, 0.01, 0.05}}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "gate FILE...",
		Short: "Replay labelled questions through the gate and through other caches' gates",
		Long: `Reads questions in order of time, one JSON object a line: id, entry (whose stored answer
is the best), score, similarity, vector (optional), right. It prints what the gate serves
at several budgets, and how much of it is wrong. Beside it:

  GPTCache, same error  the lowest similarity whose share of wrong answers is not above
                        that of the gate over the same questions. It knows the future.
  GPTCache, default     its default similarity
  vCache                the published rule in short form: a logistic curve for each stored
                        answer, and exploration. It needs an entry. Its budget is a share
                        of all questions, not of those served.

The gate learns from each question that it does not serve, and from a share of those that
it serves.`,
		Args:    cobra.MinimumNArgs(1),
		Example: `  percached-eval gate --checked 0.2 questions.jsonl`,
		RunE: func(cmd *cobra.Command, files []string) error {
			for _, b := range o.budgets {
				if !(b > 0 && b <= 1) {
					return cmdline.Misusef("--max-wrong: %v is not above 0 and at most 1", b)
				}
			}
			if !(o.checked >= 0 && o.checked <= 1) {
				return cmdline.Misusef("--checked: %v is not between 0 and 1", o.checked)
			}
			questions, err := readGateQuestions(files)
			if err != nil {
				return err
			}
			return cmdline.Show(cmd.OutOrStdout(), asJSON, o.run(questions))
		},
	}
	f := cmd.Flags()
	f.Float64SliceVar(&o.budgets, "max-wrong", o.budgets, "Error budgets, above 0 and at most 1")
	f.Float64Var(&o.checked, "checked", 1, "Share of the served answers that are checked (0-1)")
	f.StringVar(&o.encoder, "encoder", "all-MiniLM-L6-v2", "Embedding model whose calibration the gate starts from; empty: none")
	f.Uint64Var(&o.seed, "seed", 1, "Seed of the random numbers")
	f.BoolVar(&asJSON, "json", false, "Print JSON")
	return cmd
}

// readGateQuestions reads all lines.
func readGateQuestions(files []string) (out []gateQuestion, err error) {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, fault.New(fault.NotFound, "percached: eval", "%w", err)
		}
		in := json.NewDecoder(bufio.NewReader(f))
		for line := 1; ; line++ {
			var q gateQuestion
			err = in.Decode(&q)
			if err == io.EOF {
				break
			}
			if err == nil && !(q.Score >= 0 && q.Score <= 1) {
				err = fmt.Errorf("score %v is not between 0 and 1", q.Score)
			}
			if err != nil {
				f.Close()
				return nil, fault.New(fault.Invalid, "percached: eval", "%s, question %d: %w", name, line, err)
			}
			out = append(out, q)
		}
		f.Close()
	}
	return out, nil
}

// gateReplay has the options of percached-eval gate.
type gateReplay struct {
	budgets []float64
	checked float64
	encoder string
	seed    uint64
}

// start is the calibration that the gate starts from.
func (o gateReplay) start() gate.Calibration {
	if o.encoder == "" {
		return nil
	}
	return likeness.For(percached.EmbedderInfo{Name: o.encoder}, 1).Calibration
}

// run replays the questions at all budgets.
func (o gateReplay) run(questions []gateQuestion) (r gateReport) {
	for _, maxWrong := range o.budgets {
		ours := o.percached(questions, maxWrong)
		same := bestSimilarity(questions, ours.Share)
		vcache := o.vcache(questions, maxWrong)
		for _, row := range []*gateRow{&ours, &same, &vcache} {
			row.MaxWrong = maxWrong
		}
		r.Rows = append(r.Rows, ours, same, vcache)
	}
	fixed := bySimilarity(questions, gateDefault)
	fixed.Gate = "GPTCache, default"
	r.Rows = append(r.Rows, fixed)
	return r
}

// tallyGate counts what a gate served.
func tallyGate(name string, questions []gateQuestion, serve func(q gateQuestion) bool) gateRow {
	r := gateRow{Gate: name, Questions: len(questions)}
	for _, q := range questions {
		if serve(q) {
			r.Served++
			if !q.Right {
				r.Wrong++
			}
		}
	}
	if r.Served > 0 {
		r.Share = float64(r.Wrong) / float64(r.Served)
	}
	r.HitRate = float64(r.Served) / float64(max(r.Questions, 1))
	r.Low, r.High = gate.Wilson(float64(r.Wrong), float64(r.Served))
	return r
}

// bySimilarity serves from a fixed similarity.
func bySimilarity(questions []gateQuestion, threshold float64) gateRow {
	r := tallyGate("GPTCache", questions, func(q gateQuestion) bool { return q.Similarity >= threshold })
	r.Threshold = threshold
	return r
}

// bestSimilarity serves from the lowest similarity whose share of wrong answers is not
// above the given one.
func bestSimilarity(questions []gateQuestion, share float64) gateRow {
	sorted := slices.Clone(questions)
	slices.SortStableFunc(sorted, func(a, b gateQuestion) int { return cmp.Compare(b.Similarity, a.Similarity) })
	threshold, wrong := 2.0, 0
	for i, q := range sorted {
		if !q.Right {
			wrong++
		}
		if i+1 < len(sorted) && sorted[i+1].Similarity == q.Similarity {
			continue
		}
		if float64(wrong) <= share*float64(i+1) {
			threshold = q.Similarity
		}
	}
	r := bySimilarity(questions, threshold)
	r.Gate = "GPTCache, same error"
	if r.Served == 0 {
		r.Threshold = 0
	}
	return r
}
