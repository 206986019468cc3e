package idle_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/scheduler"
)

// Idle work comes to an end under any settings, makes only what they leave
// something of, and finds nothing more to do then.
func TestEnds(t *testing.T) {
	off, no := percached.PredictNothing, false
	answers := percached.PredictAnswers
	predicting := []scheduler.Kind{scheduler.Abstract, scheduler.Predict, scheduler.History, scheduler.Populate}
	for _, tc := range []regime{
		{name: "as usual", room: []int64{1 << 20, 0}},
		{name: "side by side", change: func(b *bench) { b.set.Placement = percached.Parallel }, room: []int64{1 << 20, 0}},
		{name: "prefill only", change: func(b *bench) { b.set.Threshold = 0.9 }, never: []scheduler.Kind{scheduler.Decode}},
		{name: "prefill only, side by side", change: func(b *bench) { b.set.Threshold, b.set.Placement = 0.9, percached.Parallel }},
		{name: "without prediction", want: func(s *percached.Settings) { s.Prediction = &off }, never: predicting},
		{
			name: "answers only", want: func(s *percached.Settings) { s.Prediction = &answers }, never: []scheduler.Kind{scheduler.Warm},
			change: func(b *bench) { b.set.Placement = percached.Parallel },
		},
		{
			name: "answers only, which would seldom be served", want: func(s *percached.Settings) { s.Prediction = &answers },
			change: func(b *bench) { b.set.Threshold = 0.9 }, never: predicting,
		},
		{
			name: "without the bank", want: func(s *percached.Settings) { s.Bank = &no },
			never: []scheduler.Kind{scheduler.Check, scheduler.Refresh, scheduler.Answer, scheduler.Decode},
		},
		{
			name: "without tensors", want: func(s *percached.Settings) { s.Tensors = &no }, change: func(b *bench) { b.set.Placement = percached.Parallel },
			never: []scheduler.Kind{scheduler.Restore, scheduler.Warm},
		},
		{
			name: "without tensors, prefill only", want: func(s *percached.Settings) { s.Tensors = &no },
			change: func(b *bench) { b.set.Threshold = 0.9 }, never: predicting,
		},
		{name: "without either", want: func(s *percached.Settings) { s.Tensors, s.Bank = &no, &no }, never: predicting},
		{
			name: "an engine without slices", change: func(b *bench) { b.models.noSlices = "a test" },
			never: []scheduler.Kind{scheduler.Restore, scheduler.Warm},
		},
		{
			name: "an engine without slices, prefill only", never: predicting,
			change: func(b *bench) { b.models.noSlices, b.set.Threshold = "a test", 0.9 },
		},
		{name: "without conversion", want: func(s *percached.Settings) { s.Conversion = &no }, never: []scheduler.Kind{scheduler.Decode, scheduler.Restore}},
		{name: "without adaption", want: func(s *percached.Settings) { s.Adaptive = &no }, change: func(b *bench) { b.set.Threshold = 0.9 }},
		{name: "a model that prints garbage", change: func(b *bench) { b.garbage = "?? 1. 2. - \n\n 3." }, never: []scheduler.Kind{scheduler.Populate}},
		{name: "a model that prints nothing", change: func(b *bench) { b.garbage = " " }, never: []scheduler.Kind{scheduler.Predict, scheduler.Populate}},
		{name: "a small abstract", change: func(b *bench) { b.limits.abstract = 700 }},
		{name: "an abstract without room", change: func(b *bench) { b.limits.abstract = 10 }, never: []scheduler.Kind{scheduler.Abstract, scheduler.Predict}},
		{name: "a small bank", change: func(b *bench) { b.limits.bank = 1500 }},
		{name: "a share of the tree", share: true, room: []int64{0}},
		{name: "a share of the tree, side by side", share: true, change: func(b *bench) { b.set.Placement = percached.Parallel }},
		{name: "a bank without room", change: func(b *bench) { b.limits.bank = 10 }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			for _, limit := range tc.limits() {
				b := newBench(t, tc.change)
				if tc.want != nil {
					b.want(tc.want)
				}
				b.limit(tc, limit)
				b.live()
				all := b.rest()
				b.letter("Finch")
				b.letter("Heron") // the same once more
				b.forget("Kite")
				b.ask("Where is the office of Finch?")
				all = append(all, b.rest()...)
				for _, s := range all {
					if slices.Contains(tc.never, s.Job.Kind) {
						t.Errorf("limit %d: %s %s", limit, s.Job.Kind, s.End)
					}
					if s.End == scheduler.EndDone && s.Done.Computed > 0 && s.Job.Kind == scheduler.Restore && limit == 0 {
						t.Error("tensors were made that there is no room for")
					}
				}
				b.stand()
				b.limit(tc, limit)
				var again []scheduler.Step
				sum, err := b.scheduler.Drain(context.Background(), scheduler.DrainRequest{}, func(s scheduler.Step) { again = append(again, s) })
				if err != nil || sum.Done+sum.Failed > 0 {
					t.Errorf("limit %d: behind the end: %v, %v", limit, kinds(again), err)
				}
			}
		})
	}
}

// regime is what holds while idle work is done.
type regime struct {
	name   string
	change func(*bench)
	want   func(*percached.Settings)
	never  []scheduler.Kind // that must not be done
	room   []int64          // for tensors, besides little
	share  bool             // the room is the space's own, in a large tree
}

func (b *bench) limit(r regime, n int64) {
	b.Helper()
	if r.share {
		b.ok(b.Tree.SetSpaceLimit(space, n))
		return
	}
	b.ok(b.Tree.SetLimit(n))
}

func (r regime) limits() []int64 { return append(r.room, 9000) }

// live is some days of a person who asks little.
func (b *bench) live() {
	b.Helper()
	b.predicts = [][]string{
		{"Where does the Heron committee meet?", "What does the Kite committee talk about?"},
		{"Where is the office of Kite?", "Is the Heron office in Leeds?"},
		{"What is the budget of Kite?"},
		{"Who talks about lanterns at Finch?", "Is the Otter office in Leeds?"},
	}
	for _, name := range []string{"Heron", "Kite", "Otter"} {
		b.letter(name)
		b.sleep(10 * time.Minute)
		b.work()
	}
	b.addNothing("Empty")
	b.ask(budget)
	b.ask(again)
	b.sleep(time.Hour)
	b.work()
	b.ask("Where does the Heron committee meet?")
	b.add("Otter", text("Otter")+" The budget may grow by ten.")
}
