package report

import (
	"fmt"
	"strings"
)

// verdict says whether the aim is reached, and if not, what prevents it. It is nil if that
// is unknown.
func (data *runData) verdict(r *Report, h *Headline) (*bool, []string) {
	var said []string
	line := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	faster := ""
	if r.find(percachedSystems()[0]) != nil && r.find(percachedSystems()[1]) != nil {
		faster = " (the faster of its placements)"
	}
	line("%s%s against %s, the fastest baseline: %s", h.Ours, faster, h.Best.System, h.Best.Latency.sentence("mean latency with misses"))
	line("First token: %s", h.Best.FirstToken.sentence("mean"))
	line("Idle tokens per user: %.0f and %.0f. Tensors stored at the end: %s and %s; the limit is %s each.", h.Best.Idle[0], h.Best.Idle[1],
		mib(h.Best.Held[0]), mib(h.Best.Held[1]), mib(float64(h.LimitBytes)))
	placement := h.PlacementEffects
	if placement.Same != nil && placement.Same.Ours == h.Ours {
		placement.Same = nil // the first line says the same
	}
	said = append(said, placement.sentence()...)

	reached, known := h.Best.Latency.Percent >= aim, true
	switch {
	case h.Wrong == nil:
		known = false
		line("Wrong answers served: unknown.%s", data.whyUnknown(&r.find(h.Ours).All.Bank))
	case *h.Wrong > 0:
		reached = false
		line("Wrong answers served: %d of %s (95 %%: %s).", *h.Wrong, plural(h.Bank.Of, "question"), percents(h.Bank.Low, h.Bank.High))
	case h.Bank == nil:
		line("Wrong answers served: 0; no stored answer was served.")
	default:
		line("Wrong answers served: 0 of %s (95 %%: %s).", plural(h.Bank.Of, "question"), percents(h.Bank.Low, h.Bank.High))
	}
	switch w := h.RougeL; {
	case w == nil:
		known = false
		line("ROUGE-L: unknown.%s", data.whyUnknown(nil))
	default:
		reached = reached && (w.Within || w.Above) && !w.Lower
		line("%s", w.sentence())
	}
	switch v := h.BestCorrect; {
	case v == nil:
		line("It is not known of any baseline that it served no wrong answer.")
	case v.System == h.Best.System:
		line("%s served no wrong answer.", v.System)
	default:
		line("%s served %s. Against %s, the fastest baseline without wrong answers: %s", h.Best.System, wrongWords(h.Best.Wrong), v.System, v.Latency.sentence("mean latency"))
	}

	const what = "at least 50 % lower latency than the fastest baseline, no wrong answer served, ROUGE-L within naive's interval and not lower on the same questions"
	switch {
	case h.Idle != nil && !h.Idle.Equal:
		known = false
		line("The aim (%s) cannot be judged, because idle tokens are not equal: %.0f per user against %.0f of %s.", what, h.Idle.Ours, h.Idle.Theirs, h.Idle.System)
	case !reached:
		line("The aim (%s) is not reached.", what)
		known = true
	case !known:
		line("The aim (%s) is reached for latency; the rest is unknown.", what)
	default:
		line("The aim (%s) is reached.", what)
	}
	if h.Best.Latency.Percent < aim {
		said = append(said, h.Best.slowestStages()...)
	}
	if s := r.find(h.Ours); s.All.Failed > 0 {
		line("%s failed %s. Latency leaves them out; quality counts them as wrong.", h.Ours, plural(s.All.Failed, "request"))
	}
	if !known {
		return nil, said
	}
	return &reached, said
}

// whyUnknown says why answers cannot be judged.
func (data *runData) whyUnknown(bank *Bank) string {
	switch {
	case data.run.Plan.NoQuality:
		return " The model's answers mean nothing."
	case bank != nil && bank.Checked > 0:
		return fmt.Sprintf(" None of %d is wrong; %d more could not be checked.", bank.Checked, bank.Served-bank.Checked)
	default:
		return " There is no answer to compare with."
	}
}

func (w *QualityComparison) sentence() string {
	where := choose(w.Within, "within", choose(w.Above, "above", "below")) + " naive's interval"
	if w.Lower {
		where += ", but lower on the same questions"
		if !w.Within && !w.Above {
			where = "below naive's interval, and lower on the same questions"
		}
	}
	return fmt.Sprintf("ROUGE-L: %.4f, %s; naive's is %.4f (%.4f to %.4f). Difference on the same %s: %.4f (95 %%: %.4f to %.4f; p %.4f).",
		w.Ours.Mean, where, w.Naive.Mean, w.Naive.Low, w.Naive.High, plural(w.Paired.Pairs, "question"), w.Paired.Diff, w.Paired.Low, w.Paired.High, w.Paired.P)
}

// slowestStages names the stages that take the most time.
func (v *BaselineComparison) slowestStages() []string {
	over := v.Latency.Ours - v.Latency.Theirs*(100-aim)/100
	var parts []string
	for i, s := range v.Stages {
		if i == 4 {
			break
		}
		parts = append(parts, fmt.Sprintf("%s %.2f (%s: %.2f)", s.Stage, s.Ours, v.System, s.Theirs))
	}
	return []string{
		fmt.Sprintf("It is %.2f ms above half of %s's mean. The slowest stages, in mean ms: %s.", over, v.System, strings.Join(parts, ", ")),
	}
}

func (d *Difference) sentence(what string) string {
	if d.Pairs == 0 {
		return "no question has an answer of both."
	}
	side := "lower"
	percent, low, high := d.Percent, d.Low, d.High
	if percent < 0 {
		side, percent, low, high = "higher", -percent, -high, -low
	}
	return fmt.Sprintf("%s %.2f ms against %.2f ms, %.1f %% %s (95 %%: %s to %s %%; p %.4f; %s).", what, d.Ours, d.Theirs, percent, side, fixed(low, 1), fixed(high, 1),
		d.P, plural(d.Pairs, "question"))
}

func wrongWords(n *int) string {
	if n == nil {
		return "answers that could not be checked"
	}
	return plural(*n, "wrong answer")
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func percents(low, high float64) string { return fmt.Sprintf("%.1f to %.1f %%", 100*low, 100*high) }

func mib(bytes float64) string { return fmt.Sprintf("%.2f MiB", bytes/(1<<20)) }

func choose(yes bool, then, otherwise string) string {
	if yes {
		return then
	}
	return otherwise
}
