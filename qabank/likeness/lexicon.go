package likeness

import (
	_ "embed"
	"strings"
	"sync"
)

//go:embed lexicon.txt
var lexiconText string

// lexicon holds the words whose kind decides what is asked.
var lexicon = sync.OnceValue(func() map[string]kind {
	kinds := map[string]kind{"negation": negation, "asking": asking, "dated": dated}
	m := map[string]kind{}
	for line := range strings.Lines(lexiconText) {
		name, words, _ := strings.Cut(strings.TrimSpace(line), ":")
		for w := range strings.FieldsSeq(words) {
			m[w] = kinds[name]
		}
	}
	return m
})
