package predictor_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/predictor"
)

// product is the built-in model, run by percached-eval, because this package knows no
// engine.
type product struct {
	path, cache string
}

func (b *product) Info() percached.ModelInfo { return percached.ModelInfo{} }

func (b *product) Generate(ctx context.Context, p percached.Prompt, _ func(string) error) (percached.Result, error) {
	line, err := json.Marshal(map[string]any{"question": p.Segments[0].Texts[0].Text, "max_tokens": p.MaxTokens})
	if err != nil {
		return percached.Result{}, err
	}
	cmd := exec.CommandContext(ctx, b.path, "bench", "answers", "--threads", "1", "--context", "2048")
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+b.cache, "HOME="+b.cache)
	cmd.Stdin = bytes.NewReader(line)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return percached.Result{}, fmt.Errorf("%w: %s", err, stderr.String())
	}
	var a struct {
		Answer    string           `json:"answer"`
		Finish    percached.Finish `json:"finish"`
		Prompt    int              `json:"prompt_tokens"`
		Generated int              `json:"generated_tokens"`
	}
	err = json.Unmarshal(out, &a)
	return percached.Result{
		Text: a.Answer, Finish: a.Finish,
		Usage: percached.Usage{Prompt: a.Prompt, Computed: a.Prompt, Generated: a.Generated},
	}, err
}

// mails returns subject and text of the first n mails of the demo's inbox.
func mails(t *testing.T, n int) (out [][2]string) {
	t.Helper()
	b, err := os.ReadFile("../models/demo/inbox.mbox")
	if err != nil {
		t.Fatal(err)
	}
	for m := range strings.SplitSeq("\n"+string(b), "\nFrom ") {
		head, body, ok := strings.Cut(m, "\n\n")
		_, subject, found := strings.Cut(head, "\nSubject: ")
		if subject, _, _ = strings.Cut(subject, "\n"); ok && found && len(out) < n {
			out = append(out, [2]string{subject, strings.Join(strings.Fields(body), " ")})
		}
	}
	return out
}

// The built-in model summarises real mails and predicts questions. Their quality is for
// measurements; here they must only be valid.
func TestBuiltInModel(t *testing.T) {
	if testing.Short() {
		t.Skip("links the product")
	}
	b := &product{filepath.Join(t.TempDir(), "percached-eval"), t.TempDir()}
	if out, err := exec.Command("go", "build", "-o", b.path, "../cmd/percached-eval").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w := start(t)
	o := predictor.Default()
	w.o.Engine, w.o.SummaryTokens, w.o.QuestionTokens = b, o.SummaryTokens, o.QuestionTokens
	w.reopen(false)
	for i, m := range mails(t, 12) {
		w.add(m[0], i, m[1])
	}
	w.summarise()
	s := w.stats()
	if s.Parts != 12 || s.Waiting < 6 || s.Bytes > 12*400 {
		t.Errorf("the abstract: %+v", s)
	}
	printed, seen := 0, map[string]bool{}
	check := func(r predictor.Round, stride int) {
		t.Helper()
		if len(r.New) > 2*stride || r.Usage.Generated == 0 {
			t.Errorf("%d predictions where the model was asked for %d, %+v", len(r.New), stride, r.Usage)
		}
		printed += len(r.New)
		for _, p := range r.New {
			q := p.Question
			if !utf8.ValidString(q) || strings.ContainsAny(q, "\r\n") || !strings.HasSuffix(q, "?") || len(q) > 300 || seen[strings.ToLower(q)] {
				t.Errorf("%q is no prediction", q)
			}
			seen[strings.ToLower(q)] = true
		}
	}
	for stride := 2; ; stride = 7 - stride {
		r := w.predict(stride)
		if r.Sources == 0 {
			break
		}
		check(r, stride)
	}
	r, err := w.fromHistory(t.Context(), "mail", []predictor.Asked{{Question: "When is the dinner with Idris?"}, {Question: "How much is the rent for 3B?"}}, 3)
	w.must(err)
	check(r, 3)
	if s := w.stats(); printed == 0 || s.Predictions != printed || s.Waiting != 0 {
		t.Errorf("%d predictions: %+v", printed, s)
	}
	t.Logf("%q, dropped %v", w.questions(), w.stats().Dropped)
}
