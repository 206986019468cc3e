package llmtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
)

func ask(f *Fake, question string, chunks ...string) percached.Prompt {
	p := percached.Prompt{Segments: f.Info().Chat.Ask("Answer.", chunks, question), MaxTokens: 16}
	captureAll(p.Segments)
	return p
}

func TestScript(t *testing.T) {
	o := DefaultOptions()
	o.Script = Answers(map[string]string{"When?": "At nine, ab Gleis 9 🚆.", "Broken?": "a\xffb", "Nothing?": ""})
	f := NewFake(o)
	for _, c := range []struct {
		question string
		max      int
		stop     string
		want     string
		finish   percached.Finish
	}{
		{"When?", 50, "", "At nine, ab Gleis 9 🚆.", percached.FinishEnd},
		{"When?", 2, "", "At nine", percached.FinishLength},
		{"When?", 50, ", ab", "At nine", percached.FinishStop},
		{"Broken?", 50, "", "a\uFFFDb", percached.FinishEnd},
		{"Nothing?", 50, "", "", percached.FinishEnd},
	} {
		p := ask(f, c.question)
		p.MaxTokens = c.max
		if c.stop != "" {
			p.Stop = []string{c.stop}
		}
		res, err := f.Generate(t.Context(), p, nil)
		if err != nil || res.Text != c.want || res.Finish != c.finish {
			t.Errorf("%+v: got %q (%s), %v", c, res.Text, res.Finish, err)
		}
	}
	if res, err := f.Generate(t.Context(), ask(f, "Else?"), nil); err != nil || res.Text == "" {
		t.Errorf("without a script: %q, %v", res.Text, err)
	}
}

func TestSteps(t *testing.T) {
	var got []string
	o := DefaultOptions()
	o.Split, o.Begin = 4, false
	o.Script = Answers(map[string]string{"q": "one two"})
	o.Step = func(s Step) { got = append(got, fmt.Sprintf("%s %d %d", s.Op, s.Segment, s.Tokens)) }
	f := NewFake(o)
	p := percached.Prompt{Segments: []percached.Segment{
		plainSegment(percached.KindSystem, "a b"), plainSegment(percached.KindChunk, "c d e f g"), plainSegment(percached.KindQuestion, "q"),
	}, MaxTokens: 8}
	captureAll(p.Segments)
	first, err := f.Generate(t.Context(), p, nil)
	if err != nil {
		t.Fatal(err)
	}
	got = append(got, "again")
	if _, err := f.Generate(t.Context(), stored(p, first.Slices, 1), nil); err != nil {
		t.Fatal(err)
	}
	want := strings.Split("queue 0 0,prefill 0 2,capture 0 2,prefill 1 4,prefill 1 1,capture 1 5,prefill 2 1,decode 0 1,decode 0 1,"+
		"again,queue 0 0,restore 0 2,prefill 1 4,prefill 1 1,capture 1 5,prefill 2 1,decode 0 1,decode 0 1", ",")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A question stops a background Prefill at its next batch; what is captured by
// then is kept. Time is that of the bubble.
func TestPreemptInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := DefaultOptions()
		o.Split, o.Costs = 8, Costs{Compute: time.Second, Decode: time.Second}
		o.Script = Answers(map[string]string{"now?": "yes"})
		f := NewFake(o)
		defer func() { _ = f.Close() }()
		idle := ask(f, "later?", "a b c d e f g h", strings.Repeat(" word", 100))
		idle.Priority = percached.Background
		began := time.Now()
		var idleEnd time.Duration
		var idleRes percached.Result
		var idleErr error
		go func() {
			idleRes, idleErr = f.Prefill(context.Background(), idle)
			idleEnd = time.Since(began)
		}()
		time.Sleep(35 * time.Second)
		res, err := f.Generate(t.Context(), ask(f, "now?"), nil)
		synctest.Wait()
		if err != nil || !errors.Is(idleErr, llm.ErrPreempted) {
			t.Fatalf("question: %v, idle work: %v", err, idleErr)
		}
		if idleRes.Slices[0] == nil || idleRes.Slices[1] == nil || idleRes.Slices[2] != nil {
			t.Errorf("captured %v", idleRes.Slices)
		}
		if wait := idleEnd - 35*time.Second; wait > 8*time.Second || res.Times.Queue != wait {
			t.Errorf("idle work gave way after %v, the question waited %v", wait, res.Times.Queue)
		}
		want := percached.Times{
			Queue: res.Times.Queue, Prefill: time.Duration(res.Usage.Computed) * time.Second,
			FirstToken: time.Duration(res.Usage.Computed+1) * time.Second,
		}
		if d := cmp.Diff(want, res.Times); d != "" {
			t.Error(d)
		}
	})
}

func TestVirtualClock(t *testing.T) {
	clock := &Virtual{}
	o := DefaultOptions()
	o.Clock, o.Costs = clock, Costs{Compute: time.Minute, Restore: time.Hour, Capture: time.Second}
	f := NewFake(o)
	p := ask(f, "q", strings.Repeat(" word", 32))
	cold, err := f.Prefill(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if want := time.Duration(cold.Usage.Computed) * time.Minute; cold.Times.Prefill != want || cold.Times.Capture < time.Second {
		t.Errorf("cold: %+v, want a prefill of %v", cold.Times, want)
	}
	warm, err := f.Prefill(t.Context(), stored(p, cold.Slices, 2))
	if want := 32 * 32 * time.Hour / 1024; err != nil || warm.Times.Restore != want {
		t.Errorf("restore took %v, want %v; %v", warm.Times.Restore, want, err)
	}
	if now := clock.Now(); now.Sub(time.Time{}) < cold.Times.Prefill {
		t.Errorf("the clock stands at %v", now)
	}
}

// An Embed in the foreground stops background work on the same device.
func TestSharedGate(t *testing.T) {
	o, eo := DefaultOptions(), DefaultEmbedOptions()
	eo.Gate = o.Gate
	inLine := make(chan struct{})
	eo.Step = func(s Step) {
		if s.Op == OpQueue {
			close(inLine)
		}
	}
	e := NewFakeEmbedder(eo)
	embedded := make(chan error, 1)
	o.Step = func(s Step) {
		if s.Op == OpPrefill && s.Segment == 1 {
			go func() {
				_, err := e.Embed(context.Background(), percached.Foreground, []string{"x"})
				embedded <- err
			}()
			<-inLine
		}
	}
	f := NewFake(o)
	p := ask(f, "q", "a chunk")
	p.Priority = percached.Background
	res, err := f.Prefill(t.Context(), p)
	if !errors.Is(err, llm.ErrPreempted) || res.Slices[0] == nil || res.Slices[1] != nil {
		t.Errorf("background work ended with %v", err)
	}
	if err := <-embedded; err != nil {
		t.Error(err)
	}
}

func TestSimilarTextsAreSimilar(t *testing.T) {
	e := NewFakeEmbedder(DefaultEmbedOptions())
	v, err := e.Embed(t.Context(), percached.Foreground, []string{
		"When does the train to Zürich leave?", "when does the TRAIN leave to zürich", "Who painted the garden door green?",
	})
	if err != nil {
		t.Fatal(err)
	}
	dot := func(a, b []float32) (s float32) {
		for i := range a {
			s += a[i] * b[i]
		}
		return s
	}
	if near, far := dot(v[0], v[1]), dot(v[0], v[2]); near < 0.99 || far > 0.7 {
		t.Errorf("the same words: %.2f, others: %.2f", near, far)
	}
}
