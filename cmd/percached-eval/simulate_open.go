package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"github.com/percached/percached/cmd/percached-eval/persona"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/llmtest"
)

// simulated is the only space of the simulation.
const simulated = "person"

// phone has the approximate computing times of a phone with a small model.
func phone() llmtest.Costs {
	return llmtest.Costs{
		Compute: 10 * time.Millisecond, Decode: 50 * time.Millisecond, Restore: time.Millisecond, Capture: time.Millisecond,
		Embed: 5 * time.Millisecond,
	}
}

// batch is the longest time that a phone computes before it can be interrupted: one batch of
// tokens.
const batch = 160 * time.Millisecond

// device computes by a script, and moves its clock by the computing time.
type device struct {
	start    time.Time
	clock    llmtest.Virtual
	engine   *llmtest.Fake
	embedder *llmtest.FakeEmbedder
}

// newDevice makes a device. step, which may be nil, observes what it is about to compute.
func newDevice(start time.Time, script llmtest.Script, step func(llmtest.Step)) *device {
	d := &device{start: start}
	o := llmtest.DefaultOptions()
	o.Clock, o.Costs, o.Script, o.Step = &d.clock, phone(), script, step
	d.engine = llmtest.NewFake(o)
	e := llmtest.DefaultEmbedOptions()
	e.Clock, e.Costs, e.Gate, e.Step = &d.clock, phone(), o.Gate, step
	d.embedder = llmtest.NewFakeEmbedder(e)
	return d
}

func (d *device) now() time.Time { return d.start.Add(d.clock.Now().Sub(time.Time{})) }

// day is the number of the day, from 1.
func (d *device) day() int { return 1 + int(d.now().Sub(d.start)/(24*time.Hour)) }

// sleep moves the clock to a time.
func (d *device) sleep(until time.Time) { d.clock.Sleep(max(0, until.Sub(d.now()))) }

func (d *device) shut() error { return errors.Join(d.engine.Close(), d.embedder.Close()) }

// simulator is a running simulation.
type simulator struct {
	*node.Node
	*device
	simulate
	profile persona.Profile
	events  []event
	count   *counting
	mirror  documents
	guard   guard

	// cold answers each question again without stored data, on a separate device.
	cold       *answer.Asker
	coldDevice *device
}

// event is an event of the month, or a periodic check.
type event struct {
	persona.Event
	look look
}

// open makes the month, and opens an empty node on a folder.
func (o *simulate) open(ctx context.Context, p persona.Profile, dir string, stderr io.Writer) (s *simulator, err error) {
	start := time.Date(2025, time.January, 6, 0, 0, 0, 0, time.UTC) // a Monday
	month := persona.New(p, o.seed, start)
	s = &simulator{simulate: *o, profile: p, events: calendar(month.Events(), start, p.Days), count: newCounting(), mirror: newDocuments()}
	s.device = newDevice(start, month.Script(), s.watch)
	s.coldDevice = newDevice(start, month.Script(), nil)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.shut())
		}
	}()
	c := node.Default()
	c.Create, c.Data, c.TensorLimit = true, dir, p.Room
	c.Idle.Prediction, c.Idle.Adaptive, c.Idle.Conversion = o.prediction, o.adaptive, o.conversion
	c.Idle.Cutoff = 0.88 // profiles have thresholds on both sides of it
	c.Idle.Zone, c.Idle.PayHorizon, c.Idle.PayTrial, c.Idle.PayWorth = start.Location(), o.pay.Horizon, o.pay.Trial, o.pay.Worth
	var engine llm.Engine = s.device.engine
	c.Dependencies = node.Dependencies{Engine: engine, Embedder: s.device.embedder, Now: s.device.now, Volatile: true, Patience: time.Hour} // the clock stands still during a question
	if s.Node, err = node.Open(ctx, c, true, stderr); err != nil {
		return s, err
	}
	s.guard.budget = node.IdleConfig(c.Config).Policy.Budget
	if err := s.Space(simulated, p.Space, true); err != nil {
		return s, err
	}
	return s, s.openCold(c)
}

// openCold makes the asker that reuses nothing. It asks as idle work, so no history records
// its questions.
func (s *simulator) openCold(c node.Options) (err error) {
	set, err := s.Settings(c.Config)
	if err != nil {
		return err
	}
	d := s.coldDevice
	s.cold, err = answer.New(answer.Parts{
		Knowledge: s.Knowledge, Searcher: s.Index, Bank: s.Bank, Tree: s.Tree, History: s.History,
		Embedder: d.embedder, Engine: d.engine, Now: d.now, Patience: s.Patience, Logger: slog.New(slog.DiscardHandler),
	}, set)
	return err
}

func (s *simulator) shut() error {
	var errs []error
	if s.cold != nil {
		s.cold.Close()
	}
	if s.Node != nil {
		errs = append(errs, s.Node.Close())
	}
	return errors.Join(append(errs, s.device.shut(), s.coldDevice.shut())...)
}
