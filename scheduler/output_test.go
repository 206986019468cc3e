package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// set changes the configuration.
func (s *story) set(args []string) {
	c := &s.config
	switch args[0] {
	case "idle_after":
		c.IdleAfter = s.length(args[1])
	case "compute":
		c.Budget.Compute = s.length(args[1])
	case "questions":
		c.Budget.Questions = number64[int](args[1])
	case "written":
		c.Budget.Written = number64[int64](args[1])
	case "window": // opens daily at an hour
		c.Windows = []Window{{Cron: "0 " + args[1] + " * * *", Length: s.length(args[2])}}
	case "retry":
		c.Retry = Retry{First: s.length(args[1]), Longest: s.length(args[2]), Attempts: number64[int](args[3])}
	case "pay":
		c.Pay = Pay{Horizon: s.length(args[1]), Trial: s.length(args[2]), Worth: float64(number64[int](args[3]))}
	default:
		s.t.Fatalf("unknown setting %q", args)
	}
}

func (s *story) length(text string) time.Duration {
	d, err := time.ParseDuration(text)
	must(s.t, err)
	return d
}

// clock prints a time briefly, relative to the story's first day.
func (s *story) clock(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	if days := dateOf(t, time.UTC) - dateOf(noon(), time.UTC); days > 0 {
		return fmt.Sprintf("day %d, %s", days, t.UTC().Format("15:04:05"))
	}
	return t.UTC().Format("15:04:05")
}

func (s *story) until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " until " + s.clock(t)
}

func (s *story) job(j Job) string {
	text := fmt.Sprintf("%s %s %s", j.Space, j.Kind, j.Subject)
	if j.Attempts > 0 {
		text += fmt.Sprintf(", failed %d times (%s)", j.Attempts, j.Reason)
	}
	switch {
	case j.Parked:
		text += ", parked"
	case j.From.After(s.now):
		text += ", not before " + s.clock(j.From)
	}
	return text
}

func (s *story) show(st Step) {
	if st.Job == nil {
		s.reasons(st.Reasons)
		fmt.Fprintf(&s.out, "wake %s\n", s.clock(st.Wake))
		return
	}
	fmt.Fprintf(&s.out, "%s: %s\n", st.End, s.job(*st.Job))
}

func (s *story) reasons(reasons []Reason) {
	for _, r := range reasons {
		fmt.Fprintf(&s.out, "%s%s\n", r.Code, s.until(r.Until))
	}
}

func (s *story) queue() {
	for _, j := range s.s.Queue() {
		fmt.Fprintln(&s.out, s.job(j))
	}
}

func (s *story) ledger(args []string) {
	space := args[0]
	if space == "all" {
		space = ""
	}
	since := time.Time{}
	if len(args) > 1 {
		since = s.now.Add(-s.length(args[1]))
	}
	accounts, err := s.s.Ledger(space, since)
	must(s.t, err)
	for _, a := range accounts {
		fmt.Fprintf(&s.out, "%s: %d done, %d failed, %d preempted, %g s, %d read, %d said, %d bytes; %d uses earned %g s\n",
			a.Kind, a.Jobs, a.Failed, a.Preempted, a.Seconds, a.Computed, a.Generated, a.Written, a.Uses, a.Earned)
	}
}

func (s *story) status() {
	st, err := s.s.Status()
	must(s.t, err)
	fmt.Fprintf(&s.out, "%s\n", st.State)
	s.reasons(st.Reasons)
	if w := st.Window; w.Open {
		fmt.Fprintf(&s.out, "window %s to %s: used %v, %d questions, %d bytes; left %v, %d, %d\n", s.clock(w.Start), s.clock(w.End),
			w.Used.Compute, w.Used.Questions, w.Used.Written, w.Left.Compute, w.Left.Questions, w.Left.Written)
	}
	for _, k := range kinds {
		if n := st.Jobs[k]; n > 0 {
			fmt.Fprintf(&s.out, "%d %s\n", n, k)
		}
	}
	for _, j := range st.Parked {
		fmt.Fprintf(&s.out, "parked: %s\n", s.job(j))
	}
	for _, space := range slices.Sorted(maps.Keys(st.Pace)) {
		fmt.Fprintf(&s.out, "%s: pace %s\n", space, st.Pace[space].Speed)
	}
}
