package main

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/static"
	"github.com/percached/percached/models"
)

func dot(a, b []float32) (s float64) {
	for i := range a {
		s += float64(a[i]) * float64(b[i])
	}
	return s
}

// The built-in encoder opens, has its threshold, and puts a paraphrase nearer than another
// question.
func TestNanoEmbed(t *testing.T) {
	e, err := static.Parse(context.Background(), "nano-embed", models.NanoEmbed())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if at, ok := e.Threshold(); !ok || at < 0.5 || at > 0.99 {
		t.Errorf("threshold %v, %v", at, ok)
	}
	v, err := e.Embed(context.Background(), percached.Foreground, []string{
		"When is my dentist appointment?", "What time do I have to be at the dental practice?", "How much is the rent of the garage?",
	})
	if err != nil {
		t.Fatal(err)
	}
	if like, unlike := dot(v[0], v[1]), dot(v[0], v[2]); like <= unlike {
		t.Errorf("a paraphrase at %.3f, something else at %.3f", like, unlike)
	}
}

// percached computes the same as the Python recipe, so the numbers in models/RESULTS.md apply.
func TestNanoEmbedEqualsItsRecipe(t *testing.T) {
	data, err := os.ReadFile("../../models/testdata/nano-embed.json")
	if err != nil {
		t.Fatal(err)
	}
	var want []struct {
		Text   string
		Vector []float32
	}
	if err := json.Unmarshal(data, &want); err != nil || len(want) == 0 {
		t.Fatal(len(want), err)
	}
	e, err := static.Parse(context.Background(), "nano-embed", models.NanoEmbed())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, w := range want {
		v, err := e.Embed(context.Background(), percached.Foreground, []string{w.Text})
		if err != nil {
			t.Fatal(err)
		}
		if near := dot(v[0], w.Vector); near < 0.99999 || near > 1.00001 {
			t.Errorf("%q: cosine %.6f to the recipe's vector", w.Text, near)
		}
	}
}
