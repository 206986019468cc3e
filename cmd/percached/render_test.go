package main

import (
	"path/filepath"
	"testing"

	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/llamacpp"
)

// A model whose chat template llama.cpp does not recognize uses its own template, rendered in
// a child process.
func TestOwnTemplate(t *testing.T) {
	c := llamacpp.Default()
	c.Model, c.Context, c.Threads = filepath.Join(t.TempDir(), "m.gguf"), 64, 1
	if err := gguf.WriteRandom(c.Model, gguf.RandomOptions{Shape: "tiny", Seed: 1, ChatTemplate: `{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}[assistant]{% if not enable_thinking %}<think></think>{% endif %}`}); err != nil {
		t.Fatal(err)
	}
	e, err := selftest.OpenLlama(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if f := e.Info().Chat; f.System != "[system]" || f.Question != "[user]" || f.Answer != "[assistant]<think></think>" || f.Plain() {
		t.Errorf("the frame is %+v", f)
	}
}
