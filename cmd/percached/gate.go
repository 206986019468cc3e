package main

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/cmdline"
)

func gateCommand(dial dialer) *cobra.Command {
	return apiCommand{
		use: "gate", short: "Show how many returned answers were checked and found wrong",
		long: `Shows what decides whether a stored answer is returned for a question in other words.
The aim is that at most max_wrong of these answers differ from what a fresh answer would
have said. percached answers these questions again in idle time, compares, and learns from
it.

max_wrong is a setting of the space (percached spaces set mail max_wrong=0.05), a config
key (max-wrong) and a flag of percached ask.`,
		example: `  percached gate --space mail`,
		space:   oneSpaceFlag,
		run: func(ctx context.Context, c *session, _ []string) error {
			r, err := c.GetGateWithResponse(ctx, c.space)
			if err != nil {
				return err
			}
			return c.printBody(r.Body, func(p *cmdline.Printer) { printGate(p, c.space, r.JSON200) })
		},
	}.command(dial)
}

func printGate(p *cmdline.Printer, space string, g *client.GateReport) {
	p.Line("max_wrong  %s: the aim is that at most this share of the stored answers returned for a", percentage(g.MaxWrong))
	p.Line("           question in other words differs from a fresh answer")
	p.Line("state      %s: %s", g.State, gateState(g))
	if g.Threshold <= 1 {
		p.Line("in force   stored answers are returned from a score of %.3f on", g.Threshold)
	} else {
		p.Line("in force   only exact repeats and questions that clearly mean the same get stored answers")
	}
	p.Line("returned   %d for a question in other words", g.Served)
	p.Line("checked    %d of them, compared with a fresh answer", g.Checked)
	p.Line("wrong      %d of the checked ones", g.Wrong)
	if g.Threshold <= 1 {
		p.Line("estimate   %s wrong (95 %%: %s to %s)", percentage(g.Estimate), percentage(g.Low), percentage(g.High))
	}
	p.Line("")
	for _, line := range gateAdvice(space, g) {
		p.Line("%s", line)
	}
}

// gateState explains the state.
func gateState(g *client.GateReport) string {
	switch g.State {
	case client.GateReportStateCalibrated:
		return "the estimate rests mostly on the calibration that comes with percached"
	case client.GateReportStateLearnt:
		return "the estimate rests mostly on answers of this space that were checked"
	case client.GateReportStateShut:
		return "too many checked answers were wrong"
	default:
		return "only answers that are proven to fit the question are returned"
	}
}

// gateAdvice says what the user can do.
func gateAdvice(space string, g *client.GateReport) []string {
	set := "  percached spaces set " + space + " max_wrong="
	switch {
	case g.MaxWrong == 0:
		return []string{"To get stored answers for questions in other words too, raise max_wrong:", set + "0.01"}
	case g.State == client.GateReportStateShut:
		return []string{
			"You need not do anything: percached continues when enough checked answers are right.",
			"If you accept more wrong answers, raise max_wrong:", set + number(5*g.MaxWrong),
		}
	case g.Threshold > 1:
		return []string{
			"percached learns from answers that idle work checks. To get more stored answers now,",
			"raise max_wrong:", set + number(5*g.MaxWrong),
		}
	}
	return []string{
		"If you see wrong answers, lower max_wrong, or veto them (percached qa veto). If too few",
		"questions are answered at once, raise it:", set + number(5*g.MaxWrong),
	}
}

// number is a share of at most 1 with few digits.
func number(v float64) string { return strconv.FormatFloat(min(1, v), 'g', 3, 64) }

// percentage is a share in per cent.
func percentage(v float64) string { return strconv.FormatFloat(100*v, 'g', 3, 64) + " %" }
