package backend

import (
	"context"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/calibrate"
	"github.com/percached/percached/internal/idle"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/telemetry"
	"github.com/percached/percached/models"
)

func wireStatus(begun time.Time, q api.StatusQuestions, m telemetry.State) api.Status {
	out := api.Status{
		Started: begun.UTC(), Questions: q,
		Stored: api.StatusStored{
			Spaces: m.Spaces, Documents: m.Documents, Chunks: m.Chunks, Entries: m.Entries, Answered: m.Answered, Stale: m.Stale,
			BankBytes: m.Bank.Bytes, BankLimit: m.Bank.Limit, Slices: m.Slices, TensorBytes: m.Tensors.Bytes, TensorLimit: m.Tensors.Limit,
			DiskBytes: m.Disk.Bytes,
		},
		Waiting: api.StatusWaiting{Questions: m.Questions, Uploads: m.Uploads, Parked: m.Parked},
		Idle:    api.StatusIdle{State: m.Idle},
	}
	for _, jobs := range m.Queue {
		out.Waiting.Jobs += jobs
	}
	for _, a := range m.Ledger {
		out.Idle.SpentSeconds += a.Spent
		out.Idle.SavedSeconds += a.Saved
	}
	return out
}

func (b *Backend) status(context.Context, api.Nothing) (api.Status, error) {
	now, err := b.State()
	if err != nil {
		return api.Status{}, err
	}
	out := wireStatus(b.Started, b.recorder.Questions(), now)
	out.Budget = wireStatusBudget(b.Node.Budget())
	if out.Energy, err = b.energy(out.Idle.SavedSeconds); err != nil {
		return api.Status{}, err
	}
	if b.Remote != nil {
		out.Backup = wireBackup(b.Remote.Status(), b.Now())
	}
	out.Placements, err = b.listPlacements()
	return out, err
}

func wireBackup(s node.RemoteStatus, now time.Time) *api.StatusBackup {
	out := &api.StatusBackup{To: s.To, LagSeconds: s.Lag(now).Seconds(), Error: s.Error}
	if !s.Last.IsZero() {
		out.Last = &s.Last
	}
	return out
}

// energy returns what is known of energy. Saved is the waiting time that idle work saved.
func (b *Backend) energy(saved float64) (api.StatusEnergy, error) {
	e := b.Scheduler.Energy()
	out := api.StatusEnergy{Source: e.Source, Why: e.Why, Questions: e.Requests}
	if e.Requests > 0 && e.Took > 0 {
		out.QuestionJoules = new(e.Joules / float64(e.Requests))
		out.SavedJoules = new(saved * e.Joules / e.Took.Seconds())
	}
	for _, of := range []struct {
		since           time.Time
		joules, seconds **float64
	}{{b.Now().Add(-month), &out.IdleJoules, &out.IdleSeconds}, {b.Now(), &out.IdleJoulesToday, nil}} {
		accounts, err := b.Scheduler.Ledger("", of.since)
		if err != nil {
			return out, err
		}
		var joules, seconds float64
		for _, a := range accounts {
			joules, seconds = joules+a.Joules, seconds+a.Measured
		}
		if seconds == 0 {
			continue
		}
		*of.joules = &joules
		if of.seconds != nil {
			*of.seconds = &seconds
		}
	}
	return out, nil
}

// month is the period of the ledger's sums.
const month = 30 * 24 * time.Hour

// State returns the figures of the metrics and the status.
func (b *Backend) State() (telemetry.State, error) {
	tree, err := b.Tree.Stats()
	if err != nil {
		return telemetry.State{}, err
	}
	m := telemetry.State{
		Tensors: telemetry.Room{Bytes: tree.Bytes, Limit: tree.Limit}, Disk: telemetry.Room{Bytes: tree.Disk, Limit: tree.Limit + tree.Slack},
		Hot:    telemetry.Room{Bytes: tree.HotBytes, Limit: tree.HotLimit},
		Slices: tree.Nodes, Queue: map[string]int{}, Ledger: map[string]telemetry.Account{},
		Questions: b.Asker.Waiting(), Uploads: b.Inbox.Waiting(), Listeners: b.Events.Subscribers(),
	}
	if b.Remote != nil {
		s := b.Remote.Status()
		m.BackupLag, m.BackupFailures = s.Lag(b.Now()), s.Failures
	}
	m.Bank.Bytes, m.Bank.Limit = b.Bank.Usage()
	spaces, err := b.Knowledge.Spaces()
	if err != nil {
		return m, err
	}
	m.Spaces = len(spaces)
	for _, sp := range spaces {
		st, err := b.Knowledge.Stats(sp.Name)
		if fault.KindOf(err) == fault.NotFound { // it was deleted in the meantime
			continue
		}
		if err != nil {
			return m, err
		}
		bank := b.Bank.Stats(sp.Name)
		m.Documents, m.Chunks = m.Documents+st.Documents, m.Chunks+st.Chunks
		m.Entries, m.Answered, m.Stale = m.Entries+bank.Entries, m.Answered+bank.Answered, m.Stale+bank.Stale
	}
	idle, err := b.Scheduler.Status()
	if err != nil {
		return m, err
	}
	m.Idle, m.Parked = string(idle.State), len(idle.Parked)
	for kind, n := range idle.Jobs {
		m.Queue[string(kind)] = n
	}
	accounts, err := b.Scheduler.Ledger("", b.Now().Add(-month))
	for _, a := range accounts {
		m.Ledger[string(a.Kind)] = telemetry.Account{Spent: a.Seconds, Saved: a.Earned}
	}
	return m, err
}

// listPlacements returns the placement for each kind of documents, and why. It leaves out
// spaces with their own setting.
func (b *Backend) listPlacements() ([]api.StatusPlacement, error) {
	out := []api.StatusPlacement{}
	if b.Engine == nil {
		return out, nil
	}
	spaces, err := b.Knowledge.Spaces()
	seen := map[calibrate.Subject]bool{}
	for _, sp := range spaces {
		if sp.Settings.Placement != nil || sp.Settings.Whole != nil && *sp.Settings.Whole {
			continue
		}
		set, err := b.Asker.Settings(sp.Name)
		if err != nil { // it was deleted in the meantime, or its prompt cannot be read
			continue
		}
		if of := idle.Subject(b.Engine.Info(), sp.Kind, set); !seen[of] {
			seen[of] = true
			out = append(out, b.wirePlacement(of, set))
		}
	}
	return out, err
}

func (b *Backend) wirePlacement(of calibrate.Subject, set answer.Settings) api.StatusPlacement {
	out := api.StatusPlacement{Kind: of.Kind, Placement: set.Placement}
	info := b.Engine.Info()
	rec := b.Placements.Get(of)
	_, measured := models.Placement(info)
	_, decided := rec.Placement()
	switch {
	case info.NoSlices != "":
		out.From, out.Why = "model", "tensors of this model are not reused: "+info.NoSlices
	case info.NoParallel != "" && set.Placement == percached.Sequential:
		out.From, out.Why = "model", info.NoParallel
	case b.BuiltInModel:
		out.From, out.Why = "model", "the built-in model was trained with parallel chunks"
	case set.Fixed:
		out.From, out.Why = "configuration", "set in the configuration"
	case decided:
		out.From, out.Why = "measured", rec.Why()
	case measured:
		out.From, out.Why = "family", "measured for this family of models, see docs/measurements.md"
	default:
		out.From, out.Why = "default", "default: most models are trained on sequential text"
	}
	if len(rec.Trials) > 0 || rec.Lacking > 0 {
		out.Questions = len(rec.Trials)
		out.F1Sequential, out.F1Parallel = rec.Means()
		out.Decided = rec.Decided
		if !decided {
			out.Why += "; " + rec.Why()
		}
	}
	for _, f := range rec.Forms[set.Placement].Results() {
		if f.Questions > 0 {
			out.Forms = append(out.Forms, wireForm(f, f.Form <= rec.Forms[set.Placement].Form(set.MaxChanged)))
		}
	}
	return out
}

func wireForm(f calibrate.FormResult, used bool) api.StatusForm {
	out := api.StatusForm{Form: f.Form, State: "pending", Questions: f.Questions, Same: f.Same, Nats: f.Nats}
	switch {
	case used:
		out.State = "used"
	case f.Decided:
		out.State = "refused"
	}
	return out
}

// forgetPlacements discards all measurements, so that idle work calibrates again.
func (b *Backend) forgetPlacements(context.Context, api.Nothing) (api.Nothing, error) {
	for _, rec := range b.Placements.All() {
		if err := b.Placements.Restart(rec.Subject); err != nil {
			return api.Nothing{}, err
		}
	}
	spaces, err := b.Knowledge.Spaces()
	for _, sp := range spaces {
		b.Scheduler.Changed(sp.Name)
	}
	return api.Nothing{}, err
}
