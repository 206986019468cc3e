package backend

import (
	"context"
	"encoding/hex"
	"maps"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/telemetry"
	"github.com/percached/percached/predictor"
	"github.com/percached/percached/scheduler"
)

// ledgerDays is the default period of the ledger.
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
		Generated: a.Generated, Written: a.Written, Joules: a.Joules, Measured: a.Measured, Earned: a.Earned, Uses: a.Uses,
	}
}

// WireDrained converts a summary of idle work.
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

// idleStatus returns the state of idle work, of one space or of all.
func (b *Backend) idleStatus(space string) (api.Idle, error) {
	st, err := b.Scheduler.Status()
	if err != nil {
		return api.Idle{}, err
	}
	spaces, err := b.Knowledge.Spaces()
	for _, sp := range spaces {
		if p := sp.Settings.Prediction; p != nil && *p == percached.PredictNothing {
			delete(st.Pace, sp.Name) // the space has no prediction
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

// jobsOf lists the jobs of a space, or of all spaces if none is named.
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

// ledger returns cost and savings of idle work, of one space or of all.
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
	e, err := b.drainRequest(in)
	if err != nil {
		return api.Drained{}, err
	}
	sum, err := b.Scheduler.Drain(ctx, e, nil)
	return WireDrained(sum), err
}

// drainRequest converts a request to run idle work.
func (b *Backend) drainRequest(in api.DrainRequest) (scheduler.DrainRequest, error) {
	e := scheduler.DrainRequest{Jobs: in.Jobs, Tokens: in.Tokens}
	if in.Space == "" && in.Kinds == "" {
		return e, nil
	}
	if in.Space != "" {
		if _, err := b.Knowledge.Space(string(in.Space)); err != nil {
			return e, err
		}
	}
	var known []string
	for _, k := range scheduler.Kinds() {
		known = append(known, string(k))
	}
	wanted := known
	if in.Kinds != "" {
		wanted = strings.Split(string(in.Kinds), ",")
	}
	for _, name := range wanted {
		if !slices.Contains(known, name) {
			return e, invalid("query:kind", "must be one or more of these, separated by commas: "+strings.Join(known, ", "))
		}
	}
	e.Only = func(space string, k scheduler.Kind) bool {
		return (in.Space == "" || space == string(in.Space)) && slices.Contains(wanted, string(k))
	}
	return e, nil
}

func wirePrediction(ids percached.PublicIDs, p predictor.Prediction, space string) api.Prediction {
	return api.Prediction{
		ID: hex.EncodeToString(p.ID[:]), Space: space, Question: p.Question, From: string(p.From), Chunks: ids.Chunks(p.Chunks),
		Made: p.Made, Populated: p.Populated, Hits: p.Hits, LastHit: p.LastHit,
	}
}

func wirePredictionStats(st predictor.Stats) api.PredictionStats {
	out := api.PredictionStats{
		Summaries: st.Parts, Empty: st.Empty, Unused: st.Waiting, Bytes: st.Bytes, Predictions: st.Predictions, FromHistory: st.FromHistory,
		Populated: st.Populated, Asked: st.Hit, Dropped: map[string]uint64{},
	}
	for why, n := range st.Dropped {
		out.Dropped[string(why)] = n
	}
	return out
}

// predictions lists the predictions of a space, the latest first.
func (b *Backend) predictions(_ context.Context, in api.InSpace) (api.Predictions, error) {
	space := in.Space
	out := api.Predictions{Predictions: []api.Prediction{}}
	ids, err := b.Knowledge.PublicIDs(space)
	if err != nil {
		return out, err
	}
	found, err := b.Predictor.Predictions(space)
	for _, p := range found {
		out.Predictions = append(out.Predictions, wirePrediction(ids, p, space))
	}
	if err != nil {
		return out, err
	}
	st, err := b.Predictor.Stats(space)
	out.Stats = wirePredictionStats(st)
	return out, err
}

// predict runs the jobs of prediction in one space now.
func (b *Backend) predict(ctx context.Context, in api.InSpace) (api.Drained, error) {
	if _, err := b.Knowledge.Space(in.Space); err != nil {
		return api.Drained{}, err
	}
	only := func(space string, k scheduler.Kind) bool { return space == in.Space && k.Predicts() }
	sum, err := b.Scheduler.Drain(ctx, scheduler.DrainRequest{Only: only}, nil)
	return WireDrained(sum), err
}
