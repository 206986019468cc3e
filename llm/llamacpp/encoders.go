package llamacpp

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/percached/percached"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
)

// encoderFamily is the prefixes with which encoders of one family were trained, according
// to their publishers.
type encoderFamily struct {
	query, document string
	pooling         string // if the file does not name one
}

// task is the instruction for encoders that follow one: the publishers' own words for a
// search.
const task = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

// bgeQuery precedes questions only.
const bgeQuery = "Represent this sentence for searching relevant passages: "

// familyOf identifies the family by the model's names, its own first, then by its
// architecture. An unknown family has no prefixes.
func familyOf(f *gguf.File, path string) encoderFamily {
	base, _ := f.Str("general.basename")
	for _, name := range []string{f.Name(), base, filepath.Base(path)} {
		if family, ok := familyNamed(name); ok {
			return family
		}
	}
	switch f.Architecture() {
	case "gemma-embedding":
		return gemmaFamily()
	case "nomic-bert", "nomic-bert-moe":
		return nomicFamily()
	}
	return encoderFamily{}
}

func familyNamed(name string) (encoderFamily, bool) {
	words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	has := func(word string) bool { return slices.Contains(words, word) }
	embeds := has("embed") || has("embedding")
	switch {
	case has("e5") && has("instruct"):
		return encoderFamily{query: task + " "}, true
	case has("e5"):
		return encoderFamily{query: "query: ", document: "passage: "}, true
	case has("bge") && has("zh"):
		return encoderFamily{query: "为这个句子生成表示以用于检索相关文章：", pooling: "cls"}, true
	case has("bge") && has("en") && !has("icl"):
		return encoderFamily{query: bgeQuery, pooling: "cls"}, true
	case has("bge") && has("m3"):
		return encoderFamily{pooling: "cls"}, true
	case has("arctic") && embeds && slices.ContainsFunc(words, func(w string) bool { return w == "v2" || w == "embed2" }):
		return encoderFamily{query: "query: ", pooling: "cls"}, true
	case has("arctic") && embeds: // some are nomic-bert
		return encoderFamily{query: bgeQuery, pooling: "cls"}, true
	case has("qwen3") && embeds:
		return encoderFamily{query: task, pooling: "last"}, true
	case has("embeddinggemma"), has("gemma") && embeds:
		return gemmaFamily(), true
	case has("nomic") && has("code"), has("coderankembed"):
		return encoderFamily{}, true // trained for code, not for documents
	case has("nomic") && embeds:
		return nomicFamily(), true
	}
	return encoderFamily{}, false
}

func gemmaFamily() encoderFamily {
	return encoderFamily{query: "task: search result | query: ", document: "title: none | text: ", pooling: "mean"}
}

func nomicFamily() encoderFamily {
	return encoderFamily{query: "search_query: ", document: "search_document: ", pooling: "mean"}
}

// probes are unrelated questions. Their mean similarity shows an encoder's scale: 0.13
// with all-MiniLM-L6-v2, 0.76 with e5-small-v2.
func probes() []string {
	return []string{
		"When does the train to Porto leave?",
		"Who pays for the new windows?",
		"What did the dentist say about the tooth?",
		"How many chairs were ordered for the hall?",
		"Where is the key to the garage?",
		"Why was the concert moved to May?",
		"Which recipe needs two eggs?",
		"What is the password of the printer?",
	}
}

// sameness is where equal questions begin, on the way from the similarity of unrelated
// questions to 1. It gives all-MiniLM-L6-v2 a threshold of 0.851; the paper has 0.85.
const sameness = 0.83

// measureThreshold finds the threshold on the encoder's own scale. A large model needs
// seconds for that, so the result is kept beside the model file. If it fails there is no
// threshold, and the next Embed reports why.
func (e *Embedder) measureThreshold(ctx context.Context, path string) error {
	file := path + ".percached-threshold"
	of := fingerprint(e.info.Fingerprint, probes(), sameness)
	if b, err := os.ReadFile(file); err == nil {
		kept, text, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
		if at, err := strconv.ParseFloat(text, 32); err == nil && kept == of && at > 0 && at <= 1 {
			e.threshold = float32(at)
			return nil
		}
	}
	vectors, err := llm.ForQuestions(e).Embed(ctx, percached.Foreground, probes())
	if err == nil {
		e.threshold = thresholdOf(vectors)
		keepBeside(path, file, fmt.Sprintf("%s %v\n", of, e.threshold))
	}
	return context.Cause(ctx)
}

// thresholdOf rounds, because sums differ slightly between machines.
func thresholdOf(unrelated [][]float32) float32 {
	sum, n := 0.0, 0
	for i, a := range unrelated {
		for _, b := range unrelated[:i] {
			for d := range a {
				sum += float64(a[d]) * float64(b[d])
			}
			n++
		}
	}
	mean := min(max(sum/float64(n), 0), 1)
	return float32(math.Round(1000*(mean+sameness*(1-mean))) / 1000)
}

// Threshold is the similarity from which two questions may count as the same, measured
// when the model was opened; ok is false if that failed.
func (e *Embedder) Threshold() (value float32, ok bool) { return e.threshold, e.threshold > 0 }
