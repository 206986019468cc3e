package llamacpp

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/llmtest"
)

// openReal opens a real model. Tests run beside each other, and more than one thread
// waits for the others by spinning.
func openReal(t *testing.T, file string) *Engine {
	t.Helper()
	c := Default()
	c.Model, c.Context, c.Threads = llmtest.RealModel(t, file), 2048, 1
	e, err := OpenEngine(t.Context(), c, NewGate())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// ferry is a question and chunks, of which one has the answer.
func ferry(e *Engine, place percached.Placement) percached.Prompt {
	return percached.Prompt{
		Placement: place, MaxTokens: 24, Logits: true, Stop: []string{"\n"},
		Segments: e.Info().Chat.Ask("You answer from the user's own documents.", []string{
			"Ferry tickets | from Anna | 3 May\nThe ferry to Harwich leaves at 22:15 on Friday. We meet at the gate an hour before that, and Tom brings the tickets.\n\n",
			"Kitchen | from Paul | 5 May\nThe tiles are paid. The invoice was 840 euros, and the workmen come in the second week of June.\n\n",
			"Choir | from Ines | 9 May\nWe sing in the old church this year. Please learn the second part by heart, the first one we read.\n\n",
		}, "When does the ferry to Harwich leave?"),
	}
}

func TestRealModelsWarmEqualsCold(t *testing.T) {
	for _, file := range []string{llmtest.SmolLM2, llmtest.Gemma3} {
		t.Run(file, func(t *testing.T) { testRealModel(t, openReal(t, file)) })
	}
}

func testRealModel(t *testing.T, e *Engine) {
	for _, place := range []percached.Placement{percached.Sequential, percached.Parallel} {
		t.Run(place.String(), func(t *testing.T) {
			p := ferry(e, place)
			cold := generate(t, e, capturing(p))
			for mask := range 1 << 4 {
				if mask&1 == 0 || place == percached.Sequential && mask&(mask+1) != 0 {
					continue // a slice is stored with those that it depends on
				}
				equal(t, "stored segments "+sprint(mask), cold, generate(t, e, with(p, cold.Slices, mask)))
			}
		})
	}
}

// Tensors behind the end of a sliding window come back, too.
func TestRealModelBeyondItsWindow(t *testing.T) {
	e := openReal(t, llmtest.Gemma3)
	for _, place := range []percached.Placement{percached.Sequential, percached.Parallel} {
		p := newNumbers(9).prompt(place, 20, 150, 560, 10) // the window is 512 tokens long
		cold := generate(t, e, capturing(p))
		equal(t, place.String()+", all stored", cold, generate(t, e, with(p, cold.Slices, 0b111)))
		equal(t, place.String()+", one computed", cold, generate(t, e, with(p, cold.Slices, 0b011)))
	}
}

func TestRealModelsAnswer(t *testing.T) {
	for _, file := range []string{llmtest.SmolLM2, llmtest.Gemma3} {
		t.Run(file, func(t *testing.T) {
			e := openReal(t, file)
			if r := generate(t, e, ferry(e, percached.Sequential)); !strings.Contains(r.Text, "22:15") {
				t.Errorf("the answer is %q and must name 22:15", r.Text)
			}
		})
	}
}

// testdata/minilm.json holds what a forward pass in double precision makes of the
// published weights, with the tokenizer that was published with them.
func TestRealEmbedder(t *testing.T) {
	var want []struct {
		Text   string
		Vector []float64
	}
	b, err := os.ReadFile("testdata/minilm.json")
	if err == nil {
		err = json.Unmarshal(b, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := DefaultEmbedder()
	c.Model, c.Threads = llmtest.RealModel(t, llmtest.MiniLM), 1
	e, err := OpenEmbedder(t.Context(), c, NewGate())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	texts := make([]string, len(want))
	for i := range want {
		texts[i] = want[i].Text
	}
	got, err := e.Embed(context.Background(), percached.Foreground, texts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		dot := 0.0
		for j, v := range got[i] {
			dot += float64(v) * want[i].Vector[j]
		}
		if math.Abs(1-dot) > 1e-3 {
			t.Errorf("%q: the cosine with the reference is %.5f", want[i].Text, dot)
		}
	}
	if diff := cmp.Diff(percached.EmbedderInfo{
		Name: "all-MiniLM-L6-v2", Architecture: "bert", Dimensions: 384, MaxTokens: 512, Pooling: "mean", Fingerprint: e.Info().Fingerprint,
	}, e.Info()); diff != "" {
		t.Error(diff)
	}
}
