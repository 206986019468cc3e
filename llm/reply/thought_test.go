package reply

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/percached/percached"
)

// streamed is what a stream makes of pieces, and why it ended. An odd piece is a control
// token's.
func streamed(t *testing.T, known []Mark, stop []string, pieces ...string) (string, percached.Finish) {
	t.Helper()
	var emitted strings.Builder
	s := New(func(p string) error { emitted.WriteString(p); return nil }, stop, false, known)
	var ended percached.Finish
	var err error
	for _, p := range pieces {
		text, control := strings.CutPrefix(p, "^")
		if ended, err = s.Write([]byte(text), control); err != nil || ended != "" {
			break
		}
	}
	if ended == "" {
		ended, err = s.End(percached.FinishEnd)
	}
	if err != nil || emitted.String() != s.Text() {
		t.Errorf("%q: emitted %q, kept %q, %v", pieces, emitted.String(), s.Text(), err)
	}
	return s.Text(), ended
}

func TestThoughtsAreCutOut(t *testing.T) {
	for _, tc := range []struct {
		name   string
		pieces []string
		want   string
		ended  percached.Finish
	}{
		{"none", []string{"At ", "nine."}, "At nine.", percached.FinishEnd},
		{"a thought first", []string{"<think>", "\nWhen? ", "</think>", "\n", "\nAt nine."}, "At nine.", percached.FinishEnd},
		{"an empty one", []string{"<think>\n\n</think>\n\nAt nine."}, "At nine.", percached.FinishEnd},
		{"space before it", []string{"\n<think>x</think> At", " nine."}, "\nAt nine.", percached.FinishEnd},
		{"in the middle", []string{"At <think>ten? no</think> nine. "}, "At  nine. ", percached.FinishEnd},
		{"two", []string{"<think>a</think>\n<think>b</think>\nAt nine."}, "At nine.", percached.FinishEnd},
		{"begun within another", []string{"<think>a <think> b</think>At nine."}, "At nine.", percached.FinishEnd},
		{"not ended", []string{"<think>", "so many", " hours"}, "", percached.FinishThought},
		{"not ended behind an answer", []string{"At nine. <think>or"}, "At nine. ", percached.FinishThought},
		{"ended only", []string{"</think>\n\nAt nine."}, "At nine.", percached.FinishEnd},
		{"what only begins like a mark", []string{"a <thi", "s> b </", "thing"}, "a <this> b </thing", percached.FinishEnd},
		{"a beginning at the end", []string{"a <thin"}, "a <thin", percached.FinishEnd},
		{"an end that is not whole", []string{"<think>a</thin"}, "", percached.FinishThought},
		{"a stop within a thought", []string{"<think>a\nSTOP b</think>At nine.STOP x"}, "At nine.", percached.FinishStop},
		{"a stop that is held back", []string{"At nine.ST", "OP"}, "At nine.", percached.FinishStop},
		{"an end mark of another family", []string{"<think>[/THINK]a</think>b"}, "b", percached.FinishEnd},
		{"another family", []string{"[THINK]a</think>b[/THINK]c"}, "c", percached.FinishEnd},
		{"a rune cut by a mark", []string{"\xe2\x82", "<think>x</think>", "\xac"}, "€", percached.FinishEnd},
		{
			"channels of control tokens",
			[]string{"^<|channel|>", "analysis", "^<|message|>", "hm", "^<|end|>", "^<|start|>", "assistant", "^<|channel|>", "final", "^<|message|>", "At nine."},
			"At nine.", percached.FinishEnd,
		},
		{"the first channel is the last", []string{"^<|channel|>", "final", "^<|message|>", "At nine.", "^<|end|>"}, "At nine.", percached.FinishEnd},
		{"a thought behind the answer", []string{"At nine.", "^<|end|>", "^<|start|>", "^<|channel|>", "commentary", "^<|message|>", "x"}, "At nine.", percached.FinishThought},
		{"other control tokens", []string{"At", "^<|note|>", " nine", "^<|channel|>", "."}, "At nine.", percached.FinishEnd},
	} {
		got, ended := streamed(t, KnownMarks(), []string{"STOP"}, tc.pieces...)
		if got != tc.want || ended != tc.ended {
			t.Errorf("%s: %q, %s; want %q, %s", tc.name, got, ended, tc.want, tc.ended)
		}
	}
	if got, ended := streamed(t, nil, nil, "a <think>b</think>", "^<|end|>"); got != "a <think>b</think>" || ended != percached.FinishEnd {
		t.Errorf("of a model that knows no thoughts: %q, %s", got, ended)
	}
}

// However a text is split into tokens, the same is left of it.
func TestThoughtsHoweverSplit(t *testing.T) {
	var parts []string
	for _, m := range KnownMarks() {
		parts = append(parts, m.Open, m.End, m.Open[:len(m.Open)-1], m.End[1:])
	}
	parts = append(parts, "<", "a", "At nine. ", "\n", "€", "ST", "OP", "think>")
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		var text string
		for range 1 + rng.IntN(8) {
			text += parts[rng.IntN(len(parts))]
		}
		want, how := streamed(t, KnownMarks(), []string{"STOP"}, text)
		var pieces []string
		for rest := text; rest != ""; {
			n := 1 + rng.IntN(min(len(rest), 1+rng.IntN(12)))
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got, ended := streamed(t, KnownMarks(), []string{"STOP"}, pieces...); got != want || ended != how {
			t.Fatalf("%q: whole %q, %s; in pieces %q %q, %s", text, want, how, pieces, got, ended)
		}
	}
}

// No mark is part of another, or it would depend on the split which is found; nor do
// two marks share a beginning of a thought.
func TestMarksAreApart(t *testing.T) {
	texts := map[string]bool{}
	for _, m := range KnownMarks() {
		texts[m.Open], texts[m.End] = true, true
	}
	for a := range texts {
		for b := range texts {
			if a != b && strings.Contains(a, b) {
				t.Errorf("%q is part of %q", b, a)
			}
		}
	}
}

func TestModelsThatThink(t *testing.T) {
	for _, tc := range []struct {
		template string
		tokens   []string
		opens    string
	}{
		{"", nil, ""},
		{"{{ m.content }}", []string{"a", "<think"}, ""},
		{"{{ m.content }}", []string{"a", "<think>"}, "<think>"},
		{"...<think>\n\n</think>...", nil, "<think>"},
		{"{{ m.content.split('</think>')[1] }}", nil, "<think>"},
		{"[THINK]", []string{"<think>"}, "<think> [THINK]"},
		{"<|channel|>analysis<|message|>", nil, "<|channel|>analysis"},
	} {
		var opens []string
		for _, m := range MarksOf(tc.template, tc.tokens) {
			opens = append(opens, m.Open)
		}
		if got := strings.Join(opens, " "); got != tc.opens {
			t.Errorf("%q, %q: thoughts begin with %q, want %q", tc.template, tc.tokens, got, tc.opens)
		}
	}
}

// A template that begins a thought for the model has it ended.
func TestWithoutThought(t *testing.T) {
	for _, tc := range []struct{ opening, want string }{
		{"<|im_start|>assistant\n", "<|im_start|>assistant\n"},
		{"<|im_start|>assistant\n<think>\n", "<|im_start|>assistant\n<think>\n\n</think>\n\n"},
		{"<|im_start|>assistant\n<think>", "<|im_start|>assistant\n<think>\n</think>\n\n"},
		{"<|im_start|>assistant\n<think>\n\n</think>\n\n", "<|im_start|>assistant\n<think>\n\n</think>\n\n"},
		{"<assistant></think>", "<assistant></think>"},
		{"</s>[THINK]", "</s>[THINK][/THINK]"},
		{"<|CHATBOT_TOKEN|><|START_THINKING|>", "<|CHATBOT_TOKEN|><|START_THINKING|><|END_THINKING|>"},
		{"<|begin|>assistant<|think|>", "<|begin|>assistant<|think|><|end|><|begin|>assistant<|content|>"},
		{"<|think|><|end|><|begin|>assistant", "<|think|><|end|><|begin|>assistant<|content|>"},
		{"<|start|>assistant", "<|start|>assistant<|channel|>final<|message|>"},
		{"Here are my reasoning steps:\n", "Here are my reasoning steps:\n[BEGIN FINAL RESPONSE]\n"},
	} {
		if got := WithoutThought(tc.opening, KnownMarks()); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.opening, got, tc.want)
		}
		if got := WithoutThought(tc.opening, nil); got != tc.opening {
			t.Errorf("%q of a model that knows no thoughts: %q", tc.opening, got)
		}
	}
}
