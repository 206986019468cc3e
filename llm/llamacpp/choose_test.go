package llamacpp

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/percached/percached"
)

// If the best first token ends the answer, the best one that does not begins it.
func TestAnswerHasText(t *testing.T) {
	p := percached.Prompt{MaxTokens: 1, Logits: true, Segments: []percached.Segment{{Kind: percached.KindQuestion, Texts: []percached.Text{{Text: "Who is there?"}}}}}
	e := open(t, tiny, nil)
	_, res := answered(t, e, p)
	best := greedy(res.Logits)
	e = open(t, tiny, func(c *Config) { c.Model = endingWith(t, c.Model, best) })
	for token := range res.Logits {
		if e.model.vocab.ends(int32(token)) {
			res.Logits[token] = noChance()
		}
	}
	if res.Logits[best] != noChance() {
		t.Fatalf("token %d does not end an answer", best)
	}
	want, _ := e.model.vocab.written(greedy(res.Logits))
	if got, _ := answered(t, e, p); got.Text != string(want) || got.Finish != percached.FinishLength {
		t.Errorf("%q ended %s, want %q", got.Text, got.Finish, want)
	}
	p.Sampling = percached.Sampling{Temperature: 1, TopK: 1}
	if got, _ := answered(t, e, p); got.Text != string(want) {
		t.Errorf("drawn: %q, want %q", got.Text, want)
	}
}

// endingWith copies a model's file and makes a token the one that ends a text.
func endingWith(t *testing.T, path string, token int32) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const key = "tokenizer.ggml.eos_token_id"
	at := bytes.Index(b, []byte(key))
	if at < 0 {
		t.Fatalf("%s has no %s", path, key)
	}
	binary.LittleEndian.PutUint32(b[at+len(key)+4:], uint32(token)) // behind the value's type
	path = filepath.Join(t.TempDir(), "ending.gguf")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
