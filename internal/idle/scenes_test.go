package idle_test

import (
	"slices"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/scheduler"
)

// scene is a world in which a job of one kind is due, and what must happen when
// somebody asks while it is done.
type scene struct {
	name   string
	kind   scheduler.Kind
	change func(*bench)
	set    func(*bench)
	moved  bool // the question changes what the job is about: it goes on under another name
}

// gulls are like no letter.
const gulls = "Seven gulls sleep upon red roofs above harbour walls, while none wakes when ships whistle."

func scenes() []scene {
	heron := [][]string{{"Where does the Heron committee meet?", "What does the Heron committee talk about?"}}
	predicting := func(b *bench) {
		b.predicts = slices.Clone(heron)
		b.letter("Heron")
	}
	prefilled := func(b *bench) { b.set.Threshold = 0.9 }
	parallel := func(b *bench) { b.set.Placement = percached.Parallel }
	return []scene{
		{"refresh", scheduler.Refresh, nil, func(b *bench) {
			b.letter("Heron")
			b.ask("What is the budget of Heron?")
			b.add("Heron", text("Heron")+" The budget may grow by ten.")
		}, false},
		{"answer", scheduler.Answer, nil, func(b *bench) {
			b.letter("Heron")
			b.ask("What is the budget of Heron?")
			if a := b.ask("Of Heron, what is the budget?"); a.Outcome != answer.AnswerHit {
				b.Fatalf("the bank did not serve: %+v", a.Gate)
			}
			b.add("Kite", text("Kite")) // so that tensors are missing
			b.ok(b.Tree.SetLimit(0))
			b.ok(b.Tree.SetLimit(1 << 20))
		}, false},
		{"abstract", scheduler.Abstract, nil, predicting, false},
		{"predict", scheduler.Predict, nil, predicting, false},
		{"history", scheduler.History, nil, func(b *bench) {
			predicting(b)
			b.predicts = append(b.predicts, []string{"Where is the office of Heron?"})
			b.ask("What is the budget of Heron?")
		}, true},
		{"populate", scheduler.Populate, nil, predicting, false},
		{"populate side by side", scheduler.Populate, parallel, predicting, false},
		{"populate, prefill only", scheduler.Populate, prefilled, predicting, false},
		{"decode", scheduler.Decode, prefilled, func(b *bench) {
			predicting(b)
			b.rest()
			low := 0.8
			b.want(func(s *percached.Settings) { s.Threshold = &low })
			b.ok(b.Tree.SetLimit(0)) // what decoding found, it would not have to compute
			b.ok(b.Tree.SetLimit(1 << 20))
		}, false},
		{"restore", scheduler.Restore, nil, func(b *bench) {
			b.letter("Heron")
			b.letter("Kite")
			b.ask("What is the budget of Heron?")
			b.rest()
			b.ok(b.Tree.SetLimit(0))
			b.ok(b.Tree.SetLimit(1 << 20))
			b.scheduler.Changed(space)
		}, false},
		{"warm", scheduler.Warm, parallel, func(b *bench) {
			b.letter("Heron")
			b.letter("Kite") // what the question finds is warm by then
			b.add("Gulls", gulls)
		}, false},
		{"reembed", scheduler.Reembed, nil, func(b *bench) {
			b.letter("Heron")
			for _, q := range []string{"What is the budget of Heron?", "Where is the office of Heron?"} {
				b.ask(q)
			}
			b.rest()
			b.models.embedder = "another embedder"
			b.stand()
		}, false},
		{"check", scheduler.Check, nil, func(b *bench) {
			b.letter("Heron")
			b.letter("Wren")
			for _, q := range []string{"What is the budget of Heron?", "Where is the office of Heron?", "When does the Heron committee meet?"} {
				b.ask(q)
			}
			b.rest()
			b.add("Gulls", gulls) // none of the answers would rest on it
			b.sleep(time.Hour)    // until which entries are left alone
		}, false},
	}
}
