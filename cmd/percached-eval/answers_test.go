package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/internal/selftest/selftesting"
	"github.com/percached/percached/llm/llamacpp"
)

func TestAnswers(t *testing.T) {
	in := `{"instructions":"a b","chunks":["c d","e"],"question":"f","placement":"parallel","max_tokens":3}
{"question":"alone"}`
	o := answers{model: "m", kv: "f16", threads: 1, context: 512}
	var out bytes.Buffer
	if err := o.run(context.Background(), selftesting.Opener("", ""), strings.NewReader(in), &out, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	lines := json.NewDecoder(&out)
	for n, most := range []int{3, answersTokens} {
		var a answerLine
		if err := lines.Decode(&a); err != nil {
			t.Fatal(n, err)
		}
		if a.Answer == "" || a.Finish == "" || a.Prompt == 0 || a.Generated == 0 || a.Generated > most || a.Error != "" {
			t.Errorf("%d: %+v", n, a)
		}
	}
	if lines.More() {
		t.Error("more answers than prompts")
	}
}

// With forms, each line compares the answers from packed chunks with the exact one.
func TestAnswersOfForms(t *testing.T) {
	in := `{"instructions":"a b","chunks":["c d","e"],"question":"f","max_tokens":3}`
	o := answers{model: "m", kv: "f16", threads: 1, context: 512, forms: true}
	var out, stderr bytes.Buffer
	if err := o.run(context.Background(), selftesting.Opener("", ""), strings.NewReader(in), &out, &stderr); err != nil {
		t.Fatal(err)
	}
	var a answerLine
	if err := json.Unmarshal(out.Bytes(), &a); err != nil {
		t.Fatal(err)
	}
	if a.Error != "" || len(a.Forms) != 2 {
		t.Fatalf("%+v", a)
	}
	for i, f := range a.Forms { // the fake answers otherwise from other tensors
		if f.Form != packedForms()[i] || f.Answer == "" || f.Same || !(f.Loss > 0) {
			t.Errorf("%+v", f)
		}
	}
	if !strings.Contains(stderr.String(), "q4: 0 of 1 answers are the same") {
		t.Errorf("%q", stderr.String())
	}
}

// A prompt that the engine refuses is told in its place, and the next goes on.
func TestAnswersToARefusedPrompt(t *testing.T) {
	long := strings.Repeat("word ", 40000)
	in, err := json.Marshal(promptLine{Question: long})
	if err != nil {
		t.Fatal(err)
	}
	both := string(in) + "\n" + `{"question":"short"}`
	o := answers{model: "m", kv: "f16", threads: 1, context: 512}
	var out bytes.Buffer
	if err := o.run(context.Background(), selftesting.Opener("", ""), strings.NewReader(both), &out, &bytes.Buffer{}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"error":`) || strings.Contains(lines[1], `"error":`) {
		t.Errorf("%q", lines)
	}
}

func TestAnswersWithoutAModel(t *testing.T) {
	broken := func(context.Context, llamacpp.Config) (selftest.Engine, error) {
		return nil, fault.New(fault.Invalid, "fake", "no model")
	}
	o := answers{model: "m", kv: "f16", threads: 1, context: 512}
	err := o.run(context.Background(), broken, strings.NewReader(""), &bytes.Buffer{}, &bytes.Buffer{})
	if fault.KindOf(err) != fault.Invalid {
		t.Error(err)
	}
}
