package backend

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/telemetry"
	"github.com/percached/percached/scheduler"
)

// ledgerDays is how far back the books are shown if nobody says otherwise.
const ledgerDays = 30

func wireIdle(st scheduler.Status, windows []scheduler.Window) api.Idle {
	out := api.Idle{
		State: string(st.State), Reasons: wireReasons(st.Reasons), Since: st.Since, Windows: []string{}, Device: api.Device(st.Device),
		Window: api.Window{
			Open: st.Window.Open, Start: st.Window.Start, End: st.Window.End, Next: st.Window.Next,
			Used: wireBudget(st.Window.Used), Left: wireBudget(st.Window.Left),
		},
		Jobs: map[string]int{}, Parked: len(st.Parked), Pace: map[string]api.Pace{},
	}
	if st.Running != nil {
		job := wireJob(*st.Running)
		out.Running = &job
	}
	for _, w := range windows {
		out.Windows = append(out.Windows, config.WindowText(config.Window(w)))
	}
	for kind, n := range st.Jobs {
		out.Jobs[string(kind)] = n
	}
	for space, p := range st.Pace {
		out.Pace[space] = api.Pace{Speed: string(p.Speed), Why: p.Why, Spent: p.Spent, Earned: p.Earned, Until: p.Until}
	}
	return out
}

func wireReasons(reasons []scheduler.Reason) []api.Reason {
	out := []api.Reason{}
	for _, r := range reasons {
		out = append(out, api.Reason(r))
	}
	return out
}

func wireBudget(b scheduler.Budget) api.Budget {
	return api.Budget{ComputeSeconds: b.Compute.Seconds(), Questions: b.Questions, BytesWritten: b.Written}
}

func wireJob(j scheduler.Job) api.Job {
	return api.Job{
		ID: j.ID(), Kind: string(j.Kind), Space: j.Space, Subject: j.Subject, Added: j.Added, From: j.From,
		Attempts: j.Attempts, Parked: j.Parked, Reason: j.Reason,
	}
}

func wireAccount(a scheduler.Account) api.Account {
	return api.Account{
		Kind: string(a.Kind), Jobs: a.Jobs, Failed: a.Failed, Preempted: a.Preempted, Seconds: a.Seconds, Computed: a.Computed,
		Generated: a.Generated, Written: a.Written, Joules: a.Joules, Earned: a.Earned, Uses: a.Uses,
	}
}

// WireDrained is a summary of idle work on the wire.
func WireDrained(sum scheduler.Summary) api.Drained {
	out := api.Drained{Work: wireWork(sum.Tally), Kinds: []api.KindWork{}, Reasons: wireReasons(sum.Reasons)}
	for _, k := range sum.Kinds {
		out.Kinds = append(out.Kinds, api.KindWork{Kind: string(k.Kind), Work: wireWork(k.Tally)})
	}
	return out
}

func wireWork(t scheduler.Tally) api.Work {
	return api.Work{
		Done: t.Done, Nothing: t.Nothing, Preempted: t.Preempted, Failed: t.Failed, Parked: t.Parked, Computed: t.Computed,
		Generated: t.Generated, Written: t.Written, Questions: t.Questions, Seconds: t.Took.Seconds(),
	}
}

// idleStatus tells how idle work stands: in all, or as far as it is about one
// space.
func (b *Backend) idleStatus(space string) (api.Idle, error) {
	st, err := b.Scheduler.Status()
	if err != nil {
		return api.Idle{}, err
	}
	spaces, err := b.Knowledge.Spaces()
	for _, sp := range spaces {
		if p := sp.Settings.Prediction; p != nil && *p == percached.PredictNothing {
			delete(st.Pace, sp.Name) // it goes at none
		}
	}
	if space != "" {
		others := func(j scheduler.Job) bool { return j.Space != space }
		st.Parked = slices.DeleteFunc(st.Parked, others)
		clear(st.Jobs)
		for _, j := range slices.DeleteFunc(b.Scheduler.Queue(), others) {
			if !j.Parked {
				st.Jobs[j.Kind]++
			}
		}
		maps.DeleteFunc(st.Pace, func(name string, _ scheduler.Pace) bool { return name != space })
	}
	out := wireIdle(st, b.Worker.Config().Policy.Windows)
	if out.Running != nil {
		out.Running.Subject = telemetry.PublicIDs(b.Knowledge.PublicIDs).Subject(*st.Running)
	}
	return out, err
}

// queue lists the jobs of a space, or of all if none is named.
func (b *Backend) jobsOf(space string) api.Queue {
	out := api.Queue{Jobs: []api.Job{}}
	for _, j := range b.Scheduler.Queue() {
		if space == "" || j.Space == space {
			job := wireJob(j)
			job.Subject = telemetry.PublicIDs(b.Knowledge.PublicIDs).Subject(j)
			out.Jobs = append(out.Jobs, job)
		}
	}
	return out
}

// ledger tells what idle work cost and saved since then: in a space, or in all if
// none is named.
func (b *Backend) ledger(_ context.Context, in api.LedgerQuery) (api.Ledger, error) {
	space, since := string(in.Space), in.Since
	if since.IsZero() {
		since = b.Now().AddDate(0, 0, -ledgerDays)
	}
	out := api.Ledger{Since: since, Accounts: []api.Account{}}
	if space != "" {
		if _, err := b.Knowledge.Space(space); err != nil {
			return out, err
		}
	}
	accounts, err := b.Scheduler.Ledger(space, since)
	for _, a := range accounts {
		out.Accounts = append(out.Accounts, wireAccount(a))
	}
	return out, err
}

func (b *Backend) idle(context.Context, api.Nothing) (api.Idle, error) { return b.idleStatus("") }

func (b *Backend) device(_ context.Context, d api.Device) (api.Idle, error) {
	if d.At.IsZero() {
		d.At = b.Now()
	}
	if err := b.Scheduler.Post(scheduler.Device(d)); err != nil {
		return api.Idle{}, err
	}
	return b.idleStatus("")
}

func (b *Backend) queue(context.Context, api.Nothing) (api.Queue, error) {
	return b.jobsOf(""), nil
}

func (b *Backend) retryJob(_ context.Context, o api.OneJob) (api.Nothing, error) {
	return api.Nothing{}, b.Scheduler.Retry(o.Job)
}

func (b *Backend) pause(context.Context, api.Nothing) (api.Idle, error) {
	if err := b.Scheduler.Pause(); err != nil {
		return api.Idle{}, err
	}
	return b.idleStatus("")
}

func (b *Backend) resume(context.Context, api.Nothing) (api.Idle, error) {
	if err := b.Scheduler.Resume(); err != nil {
		return api.Idle{}, err
	}
	return b.idleStatus("")
}

func (b *Backend) drain(ctx context.Context, in api.DrainRequest) (api.Drained, error) {
	e, err := b.errand(in)
	if err != nil {
		return api.Drained{}, err
	}
	sum, err := b.Scheduler.Drain(ctx, e, nil)
	return WireDrained(sum), err
}

// errand says which jobs somebody wants done, and how many.
func (b *Backend) errand(in api.DrainRequest) (scheduler.DrainRequest, error) {
	e := scheduler.DrainRequest{Jobs: in.Jobs, Tokens: in.Tokens}
	if in.Space == "" && in.Kinds == "" {
		return e, nil
	}
	if in.Space != "" {
		if _, err := b.Knowledge.Space(string(in.Space)); err != nil {
			return e, err
		}
	}
	var there []string
	for _, k := range scheduler.Kinds() {
		there = append(there, string(k))
	}
	wanted := there
	if in.Kinds != "" {
		wanted = strings.Split(string(in.Kinds), ",")
	}
	for _, name := range wanted {
		if !slices.Contains(there, name) {
			return e, invalid("query:kind", "it must be some of these, with commas between them: "+strings.Join(there, ", "))
		}
	}
	e.Only = func(space string, k scheduler.Kind) bool {
		return (in.Space == "" || space == string(in.Space)) && slices.Contains(wanted, string(k))
	}
	return e, nil
}
