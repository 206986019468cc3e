package idle_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/qabank"
	"github.com/percached/percached/qkvtree"
	"github.com/percached/percached/scheduler"
)

// life does by chance what people do.
type life struct {
	*bench
	rng  *rand.Rand
	told []string // what was done, for whoever looks into a failure
}

var things = []string{"Heron", "Kite", "Otter", "Wren", "Finch", "Lapwing", "Badger", "Marten"}

func (l *life) thing() string { return things[l.rng.IntN(len(things))] }

func (l *life) question() string {
	forms := []string{
		"What is the budget of %s?", "Of %s, what is the budget?", "The budget of %s is what?", "Where is the office of %s?",
		"When does the %s committee meet?", "What does the %s committee talk about?", "What about %s today?",
	}
	return fmt.Sprintf(forms[l.rng.IntN(len(forms))], l.thing())
}

// act does one thing.
func (l *life) act() {
	l.Helper()
	pick := func(v ...float64) *float64 { return &v[l.rng.IntN(len(v))] }
	switch n := l.rng.IntN(25); {
	case n < 4:
		key := l.thing()
		l.say("add " + key)
		l.add(key, text(key)+[]string{"", " The budget may grow.", " Ten people work there."}[l.rng.IntN(3)])
	case n < 6:
		if docs, err := l.Knowledge.Documents(space, percached.DocumentID{}, 100); err == nil && len(docs) > 0 {
			d := docs[l.rng.IntN(len(docs))]
			l.say("forget " + d.Key)
			l.forget(d.Key)
		}
	case n < 11:
		q := l.question()
		l.say("ask " + q)
		_, err := l.Asker.Ask(context.Background(), answer.Question{Space: space, Text: q, Bypass: l.rng.IntN(8) == 0}, answer.Listener{})
		if err != nil && !l.broken.engine.Load() {
			l.Error(err)
		}
	case n < 12:
		limit := []int64{0, 700, 3000, 5000, 9000, 20000, 1 << 20}[l.rng.IntN(7)]
		l.say(fmt.Sprint("limit ", limit))
		l.ok(l.Tree.SetLimit(limit))
		l.scheduler.Changed(space)
	case n < 13:
		l.say("threshold")
		l.want(func(s *percached.Settings) { s.Threshold = pick(0.8, 0.85, 0.9) })
	case n < 14:
		p := []percached.Prediction{percached.PredictNothing, percached.PredictAnswers, percached.PredictBoth, percached.PredictBoth}[l.rng.IntN(4)]
		l.say("prediction " + string(p))
		l.want(func(s *percached.Settings) { s.Prediction = &p })
	case n < 15:
		yes, which := l.rng.IntN(3) > 0, l.rng.IntN(5)
		l.say(fmt.Sprint("switch ", which, yes))
		l.want(func(s *percached.Settings) {
			*[]**bool{&s.Bank, &s.Tensors, &s.Guard, &s.Adaptive, &s.Conversion}[which] = &yes
		})
	case n < 16:
		p := percached.Placement(l.rng.IntN(2))
		l.say(fmt.Sprint("placement ", p))
		l.want(func(s *percached.Settings) { s.Placement = &p })
	case n < 17:
		k := 1 + l.rng.IntN(3)
		l.say(fmt.Sprint("k ", k))
		l.want(func(s *percached.Settings) { s.K = &k })
	case n < 18:
		l.say("break the engine or mend it")
		l.broken.engine.Store(!l.broken.engine.Load())
	case n < 19:
		l.say("break the embedder or mend it")
		l.broken.embedder.Store(!l.broken.embedder.Load())
	case n < 20:
		if l.rng.IntN(3) == 0 {
			l.models.embedder = fmt.Sprint("embedder ", l.rng.IntN(2))
		}
		if l.rng.IntN(3) == 0 {
			l.models.engine = fmt.Sprint("engine ", l.rng.IntN(2))
		}
		l.models.noSlices = ""
		if l.rng.IntN(5) == 0 {
			l.models.noSlices = "a test"
		}
		l.say(fmt.Sprint("stand ", l.models))
		l.stand()
	case n < 21:
		l.garbage = []string{"", "", "??? - \n\n1.\n2. ", "no no no", "1. What is the budget of Heron?"}[l.rng.IntN(5)]
		l.say("print " + l.garbage)
	case n < 22:
		if l.rng.IntN(3) > 0 {
			break
		}
		l.say("forget all")
		_, err := l.Library.DeleteSpace(context.Background(), space)
		l.ok(err)
		l.ok(l.Knowledge.CreateSpace(percached.Space{Name: space, Kind: "notes"}))
		l.scheduler.Changed(space)
	default:
		d := []time.Duration{time.Second, time.Minute, 10 * time.Minute, 30 * time.Hour}[l.rng.IntN(4)]
		l.say(fmt.Sprint("sleep ", d, " and work"))
		l.sleep(d)
		l.work()
	}
	for range l.rng.IntN(2) {
		l.predicts = append(l.predicts, []string{l.question(), l.question()})
	}
}

func (l *life) say(what string) { l.told = append(l.told, what) }

// sound: nothing rests on what is gone, and all can be read.
func (l *life) sound() {
	l.Helper()
	rep, err := l.Tree.Verify(context.Background())
	if err != nil || !rep.Clean() {
		l.Errorf("the tree: %+v, %v", rep, err)
	}
	var named []percached.ChunkID
	l.Tree.Nodes(space, func(n qkvtree.Info) {
		if n.Chunk != (percached.ChunkID{}) {
			named = append(named, n.Chunk)
		}
	})
	l.ok(l.Bank.Each(space, func(e qabank.Entry) error {
		if e.Stale { // it rests on an earlier edition
			return nil
		}
		for _, ev := range e.Evidence {
			named = append(named, ev.Chunk)
		}
		return nil
	}))
	cited, err := l.Predictor.Cited(space)
	l.ok(err)
	named = append(named, cited...)
	alive, err := l.Knowledge.Versions(space, named)
	l.ok(err)
	for _, c := range named {
		if _, ok := alive[c]; !ok {
			l.Errorf("something rests on chunk %s, which is gone", c)
		}
	}
}

// Whatever people do, idle work comes to an end, and what it leaves is sound.
func TestLives(t *testing.T) {
	lives := 12
	if testing.Short() {
		lives = 3
	}
	for seed := range uint64(lives) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			l := &life{rng: rand.New(rand.NewPCG(seed, 5))}
			l.bench = newBench(t, func(b *bench) {
				b.set.Placement = percached.Placement(l.rng.IntN(2))
				b.limits.abstract = []int64{0, 0, 1000, 100}[l.rng.IntN(4)]
				b.limits.bank = []int64{0, 0, 4000, 1500}[l.rng.IntN(4)]
			})
			defer func() {
				if t.Failed() {
					t.Log(strings.Join(l.told, "; "), "ended:", kinds(l.ended))
				}
			}()
			for range 40 {
				l.act()
				l.sound()
				if t.Failed() {
					return
				}
			}
			l.broken.engine.Store(false)
			l.broken.embedder.Store(false)
			l.say("rest")
			l.rest()
			l.sound()
			for _, j := range l.scheduler.Queue() {
				if !j.Parked {
					t.Errorf("left in the queue: %+v", j)
				} else {
					l.ok(l.scheduler.Retry(j.ID()))
				}
			}
			for _, s := range l.rest() {
				if s.End == scheduler.EndParked {
					t.Errorf("parked again: %s, %s", s.Job.Kind, s.Job.Reason)
				}
			}
			if sum, err := l.scheduler.Drain(context.Background(), scheduler.DrainRequest{}, nil); err != nil || sum.Done > 0 || sum.Failed > 0 {
				t.Errorf("in the end: %+v, %v", sum, err)
			}
		})
	}
}
