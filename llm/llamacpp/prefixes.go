package llamacpp

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/percached/percached/llm/gguf"
)

// encoderFamily is what encoders of one family were trained to find before a text, as
// their publishers say.
type encoderFamily struct {
	query, document string
	pooling         string // where the file does not say
}

// task is what encoders that follow instructions are asked for: their publishers'
// own words for a search.
const task = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

// bgeQuery goes before questions alone.
const bgeQuery = "Represent this sentence for searching relevant passages: "

// familyOf goes by the names of a model, its own first, then by its architecture.
// A model of an unknown family gets no prefixes.
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
		return encoderFamily{}, true // for code, which is not what is searched here
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
