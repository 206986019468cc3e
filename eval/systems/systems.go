package systems

import (
	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
)

// The systems that other code refers to.
const (
	Naive         = "naive"
	NaiveParallel = "naive-parallel"
	PerCache      = "percache"
	Percached     = "percached"
	Poisoned      = "poisoned" // not in the group all
)

// known are all systems without variants, in the order of reports.
func known() []eval.System {
	set := func(change ...func(*client.Settings)) (s client.Settings) {
		for _, c := range change {
			c(&s)
		}
		return s
	}
	yes, no := true, false
	placed := func(p client.Placement) func(*client.Settings) {
		return func(s *client.Settings) {
			s.Placement, s.Order, s.Planes = new(p), new(client.OrderRelevance), new(client.PlanesKV)
		}
	}
	sequential, parallel := placed(client.PlacementSequential), placed(client.PlacementParallel)
	bank := func(on bool) func(*client.Settings) { return func(s *client.Settings) { s.Bank = &on } }
	tensors := func(on bool) func(*client.Settings) { return func(s *client.Settings) { s.Tensors = &on } }
	drafts := func(on bool) func(*client.Settings) { return func(s *client.Settings) { s.Drafts = &on } }
	guard := func(on bool) func(*client.Settings) { return func(s *client.Settings) { s.Guard = &on } }
	predict := func(m client.PredictionMode) func(*client.Settings) {
		return func(s *client.Settings) { s.Prediction = &m }
	}
	unchanging := func(s *client.Settings) { s.Adaptive, s.Conversion = &no, &no }
	changing := func(s *client.Settings) { s.Adaptive, s.Conversion = &yes, &yes }
	const off, answers, both = client.PredictionModeOff, client.PredictionModeAnswers, client.PredictionModeBoth
	cold := func(p func(*client.Settings)) client.Settings {
		return set(p, bank(no), tensors(no), drafts(no), predict(off))
	}
	whole := cold(sequential)
	whole.Whole = &yes
	percache := set(sequential, bank(yes), guard(no), tensors(yes), drafts(no), predict(both), changing, papersPrompts)
	own := set(parallel, bank(yes), guard(yes), tensors(yes), drafts(yes), predict(both), changing)
	return []eval.System{
		{
			Name: Naive, About: "no cache: every answer is computed from its prompt",
			Settings: cold(sequential), Idle: eval.IdleNone, Reference: Naive,
		},
		{
			Name: "naive-whole", About: "no cache; the whole prompt is tokenized at once instead of segment by segment",
			Settings: whole, Idle: eval.IdleNone, Reference: Naive,
		},
		{
			Name: NaiveParallel, About: "no cache, parallel placement",
			Settings: cold(parallel), Idle: eval.IdleNone, Reference: NaiveParallel,
		},
		{
			Name: "ragcache", About: "stored tensors of asked questions, valid behind the same earlier chunks",
			Settings: set(sequential, bank(no), tensors(yes), drafts(no), predict(off)), Idle: eval.IdleNone, Reference: Naive,
		},
		{
			Name: "ragcache-parallel", About: "ragcache with parallel placement, which shows the effect of placement; not a baseline",
			Settings: set(parallel, bank(no), tensors(yes), drafts(no), predict(off)), Idle: eval.IdleNone, Reference: NaiveParallel,
		},
		{
			Name: "meancache", About: "stored answers of asked questions, served by similarity",
			Settings: set(sequential, bank(yes), guard(no), tensors(no), drafts(no), predict(off)), Idle: eval.IdleNone, Reference: Naive,
		},
		{
			Name: "sleep-time", About: "stored answers to predicted questions, served by similarity; asked questions are not stored",
			Settings: set(sequential, bank(yes), guard(no), tensors(no), drafts(no), predict(answers), unchanging, papersPrompts),
			Idle:     eval.IdlePredict, Forgets: true, Reference: Naive,
		},
		{
			Name: "ragcache+meancache", About: "ragcache and meancache together",
			Settings: set(sequential, bank(yes), guard(no), tensors(yes), drafts(no), predict(off)), Idle: eval.IdleNone, Reference: Naive,
		},
		{
			Name: "ragcache+sleep-time", About: "stored tensors of asked questions, stored answers to predicted questions",
			Settings: set(sequential, bank(yes), guard(no), tensors(yes), drafts(no), predict(answers), unchanging, papersPrompts),
			Idle:     eval.IdlePredict, Forgets: true, Reference: Naive,
		},
		{
			Name: PerCache, About: "the paper's: stored answers and tensors of asked and predicted questions, served by similarity, with adaptation and conversion",
			Settings: percache, Idle: eval.IdlePredict, Reference: Naive,
		},
		{
			Name: Percached, About: "percached with its defaults: gate, parallel placement, all idle work",
			Settings: own, Idle: eval.IdleAll, Reference: NaiveParallel,
		},
		{
			Name: "percached-sequential", About: "percached with sequential placement",
			Settings: set(sequential, bank(yes), guard(yes), tensors(yes), drafts(yes), predict(both), changing), Idle: eval.IdleAll, Reference: Naive,
		},
		{
			Name: "percached-no-bank", About: "percached without stored answers",
			Settings: with(own, bank(no)), Idle: eval.IdleAll, Reference: NaiveParallel,
		},
		{
			Name: "percached-no-tensors", About: "percached without stored tensors",
			Settings: with(own, tensors(no)), Idle: eval.IdleAll, Reference: NaiveParallel,
		},
		{
			Name: "percached-no-drafts", About: "percached without drafts: the model writes each token of an answer by itself",
			Settings: with(own, drafts(no)), Idle: eval.IdleAll, Reference: NaiveParallel,
		},
		{
			Name: "percached-no-prediction", About: "percached without predicted questions; it still prefills chunks",
			Settings: with(own, predict(off)), Idle: eval.IdleAll, Reference: NaiveParallel,
		},
		{
			Name: "percached-no-idle", About: "percached without any idle work",
			Settings: with(own, predict(off)), Idle: eval.IdleNone, Reference: NaiveParallel,
		},
		{
			Name: fixed, About: "percache without adaptation and conversion",
			Settings: with(percache, unchanging), Idle: eval.IdlePredict, Reference: Naive,
		},
		{
			Name: Poisoned, About: "a control: a bank filled with wrong answers, served by similarity",
			Settings: with(percache, predict(off)), Idle: eval.IdleNone, Poisoned: true, Reference: Naive,
		},
	}
}

// fixed is the baseline of the scheduling cases. It is not in the group all.
const fixed = "percache-fixed"

func with(s client.Settings, change func(*client.Settings)) client.Settings {
	change(&s)
	return s
}
