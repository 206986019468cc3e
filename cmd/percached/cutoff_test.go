package main

import (
	"context"
	"testing"
	"time"

	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/node/nodetest"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/scheduler"
)

// ownThreshold is an embedder with its own threshold.
type ownThreshold struct {
	llm.Embedder
	at float32
}

func (e ownThreshold) Threshold() (float32, bool) { return e.at, true }

// With any embedding model and threshold, predicted questions are decoded and tensors become
// answers, except in a space with a higher threshold.
func TestCutoffLiesAboveTheThreshold(t *testing.T) {
	fake := llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())
	embedders := []llm.Embedder{fake}
	for _, at := range []float32{0, 0.3, 0.7, 0.88, 0.95, 0.999, 1} {
		embedders = append(embedders, ownThreshold{fake, at})
	}
	for _, e := range embedders {
		for _, configured := range []float64{-1, 0, 0.5, 0.8, 0.88, 0.9, 0.95, 0.99, 1} {
			c := node.Default()
			c.Threshold = configured
			s := &node.Node{Dependencies: node.Dependencies{Embedder: e}}
			set, err := s.Settings(c.Config)
			if err != nil {
				t.Fatal(err)
			}
			rules, err := s.IdleRules(c.Config)
			if err != nil || rules.Validate() != nil {
				t.Fatal(err, rules.Validate())
			}
			at, cutoff := set.Threshold, rules.Policy.Cutoff
			if cutoff < at || cutoff == at && at != 1 {
				t.Errorf("threshold %v: the cut-off is %v", at, cutoff)
			}
			if got := rules.Policy.Population(at, true); got != scheduler.Full || !rules.Policy.Decodes(at, true) {
				t.Errorf("threshold %v, cut-off %v: %v", at, cutoff, got)
			}
			if strict := (1 + cutoff) / 2; cutoff < 1 && rules.Policy.Population(strict, true) != scheduler.PrefillOnly {
				t.Errorf("threshold %v of a space, cut-off %v: it is decoded", strict, cutoff)
			}
		}
	}
	if at, cutoff := answer.Default().Threshold, scheduler.Default().Cutoff; at >= cutoff {
		t.Errorf("by default the threshold is %v and the cut-off %v", at, cutoff)
	}
}

// A configured cut-off applies.
func TestCutoffIsConfigured(t *testing.T) {
	c := node.Default()
	c.Idle.Cutoff = 0.5
	s := &node.Node{Dependencies: node.Dependencies{Embedder: llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())}}
	if rules, err := s.IdleRules(c.Config); err != nil || rules.Policy.Cutoff != 0.5 {
		t.Error(rules.Policy.Cutoff, err)
	}
}

// With a real encoder and the defaults, idle work answers predicted questions.
func TestPredictedQuestionsAreAnsweredWithARealEncoder(t *testing.T) {
	c := node.Default()
	c.Data, c.Create, c.Volatile, c.Now = t.TempDir(), true, true, time.Now
	c.Threads, c.EmbedModel = 1, llmtest.RealModel(t, llmtest.MiniLM)
	c.MaxTokens, c.ChunkWords = 16, 40
	s := nodetest.Open(t, c)
	defer s.Close()
	if _, err := s.Scheduler.Drain(context.Background(), scheduler.DrainRequest{}, func(scheduler.Step) {}); err != nil {
		t.Fatal(err)
	}
	if st := s.Bank.Stats(nodetest.Space); st.Entries == 0 || st.Answered != st.Entries {
		t.Errorf("%d of %d predicted questions are answered", st.Answered, st.Entries)
	}
}
