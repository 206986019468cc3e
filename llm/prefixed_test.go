package llm_test

import (
	"slices"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/llmtest"
)

type e5 struct{ *llmtest.FakeEmbedder }

func (e e5) Info() percached.EmbedderInfo {
	i := e.FakeEmbedder.Info()
	i.QueryPrefix, i.DocumentPrefix = "query: ", "passage: "
	return i
}

func TestForQuestionsAndForDocuments(t *testing.T) {
	e := e5{llmtest.NewFakeEmbedder(llmtest.DefaultEmbedOptions())}
	embed := func(by llm.Embedder, text string) []float32 {
		v, err := by.Embed(t.Context(), percached.Foreground, []string{text})
		if err != nil {
			t.Fatal(err)
		}
		return v[0]
	}
	texts := []string{"Who came?"}
	question, document := embed(llm.ForQuestions(e), texts[0]), embed(llm.ForDocuments(e), texts[0])
	if !slices.Equal(question, embed(e, "query: Who came?")) || !slices.Equal(document, embed(e, "passage: Who came?")) {
		t.Error("other prefixes than the model's")
	}
	if slices.Equal(question, document) || llm.ForQuestions(e).Info() != e.Info() {
		t.Error("questions and documents are not told apart, or the model is another")
	}
	plain := e.FakeEmbedder
	if llm.ForQuestions(plain) != llm.Embedder(plain) || llm.ForDocuments(plain) != llm.Embedder(plain) {
		t.Error("an embedder without prefixes is not itself")
	}
}
