package llamacpp

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/jinja"
	"github.com/percached/percached/llm/llmtest"
	"github.com/percached/percached/llm/reply"
	builtin "github.com/percached/percached/models"
)

// templateRoles is no template that llama.cpp recognises.
const templateRoles = `{{ bos_token }}{% for m in messages %}<role>{{ m.role | upper }}</role>{{ m.content | trim }}</s>{% endfor %}{% if add_generation_prompt %}<role>ASSISTANT</role>{% endif %}`

func apart(t *testing.T) renderer {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return jinja.Renderer{Program: exe, Name: "render"}.Render
}

func TestOwnFormats(t *testing.T) {
	roles := percached.ChatFormat{
		Name: "other", System: "<role>SYSTEM</role>", Question: "</s><role>USER</role>", Answer: "</s><role>ASSISTANT</role>", Lone: "<role>USER</role>",
	}
	chatML := percached.ChatFormat{
		Name: "chatml", System: "<|im_start|>system\n", Question: "<|im_end|>\n<|im_start|>user\n",
		Answer: "<|im_end|>\n<|im_start|>assistant\n", Lone: "<|im_start|>user\n",
	}
	thoughtless := chatML
	thoughtless.Answer += "<think>\n\n</think>\n\n"
	r1 := percached.ChatFormat{
		Name: "other", Question: "<｜User｜>", Answer: "<｜Assistant｜><think>\n\n</think>\n\n", Lone: "<｜User｜>",
	}
	bos := roles
	bos.System, bos.Lone = "<s>"+roles.System, "<s>"+roles.Lone
	for _, c := range []struct {
		name, template string
		ends           endTokens
		want           percached.ChatFormat
	}{
		{"unknown to llama.cpp", templateRoles, endTokens{"<s>", "</s>", true}, roles},
		{"the begin token twice", "{{ bos_token }}<s>" + templateRoles, endTokens{"<s>", "</s>", true}, roles},
		{"the begin token that no vocabulary adds", templateRoles, endTokens{"<s>", "</s>", false}, bos},
		{"no begin token", templateRoles, endTokens{}, roles},
		{"the same as llama.cpp's", templateChatML, endTokens{}, chatML},
		{"the same, with instructions of its own where there are none", templateQwen25, endTokens{}, chatML},
		{"asked not to think", templateQwen3, endTokens{}, thoughtless},
		{"a thought begun", `{% for m in messages %}{% if m.role == 'user' %}<｜User｜>{% endif %}{{ m.content }}{% endfor %}<｜Assistant｜><think>` + "\n", endTokens{}, r1},
		{"no place for instructions", templateGemma2, endTokens{"<bos>", "<eos>", true}, percached.ChatFormat{
			Name: "gemma", System: "<start_of_turn>user\n", Question: "\n\n", Answer: "<end_of_turn>\n<start_of_turn>model\n", Lone: "<start_of_turn>user\n",
		}},
		{"no place, unknown to llama.cpp", `{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no') }}{% endif %}<u>{{ m.content }}</u>{% endfor %}<a>`, endTokens{}, percached.ChatFormat{
			Name: "other", System: "<u>", Question: "\n\n", Answer: "</u><a>", Lone: "<u>",
		}},
		{"instructions left out", `{% for m in messages if m.role == 'user' %}<u>{{ m.content }}</u>{% endfor %}<a>`, endTokens{}, percached.ChatFormat{
			Name: "other", System: "<u>", Question: "\n\n", Answer: "</u><a>", Lone: "<u>",
		}},
		{"the question twice", `{% for m in messages %}{{ m.content }}{{ m.content }}{% endfor %}`, endTokens{}, plainChat},
		{"no question", `{{ bos_token }}hello`, endTokens{}, plainChat},
		{"no Jinja", "{% if", endTokens{}, plainChat},
		{"a frame that is too long", `{{ "a" * 9000 }}` + templateRoles, endTokens{}, plainChat},
		{"without end", strings.Repeat(`{% for a in range(100000) %}`, 5) + strings.Repeat(`{% endfor %}`, 5) + templateRoles, endTokens{}, plainChat},
		{"without end, but known to llama.cpp", templateChatML + strings.Repeat(`{% for a in range(100000) %}`, 5) + strings.Repeat(`{% endfor %}`, 5), endTokens{}, chatML},
		{"none", "", endTokens{}, plainChat},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := chatFormat(t.Context(), c.template, c.ends, apart(t))
			got.Answer = reply.WithoutThought(got.Answer, reply.MarksOf(c.template, nil))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("frame (-want +got):\n%s", diff)
			}
		})
	}
	failing := func(context.Context, string, []map[string]any) ([]string, error) {
		return nil, errors.New("no process")
	}
	if got := chatFormat(t.Context(), templateChatML, endTokens{}, failing); !cmp.Equal(got, chatML) {
		t.Errorf("where nothing can be rendered: %+v", got)
	}
}

// The least that a template names is asked for.
func TestAskNoThought(t *testing.T) {
	for template, want := range map[string]any{
		"":                                     nil,
		"'low'":                                nil,
		"reasoning_effort 'low' \"none\"":      "none",
		"reasoning_effort is none 'low'":       "low",
		"reasoning_effort 'no_think'":          "no_think",
		"reasoning_effort <|channel|>analysis": "low",
	} {
		vars := map[string]any{}
		askNoThought(template, vars)
		if vars["reasoning_effort"] != want || vars["enable_thinking"] != false || vars["thinking"] != false {
			t.Errorf("%q: %v, want %v", template, vars, want)
		}
	}
}

// The model reads its begin token once, whether its template writes it or not.
func TestOneBeginToken(t *testing.T) {
	for _, template := range []string{templateRoles, "<s>" + templateRoles, strings.TrimPrefix(templateRoles, "{{ bos_token }}")} {
		o := gguf.RandomOptions{Shape: "tiny", Seed: 1, Tokenizer: "spm", ChatTemplate: template}
		e := open(t, o, func(c *Config) { c.Render = apart(t) })
		if e.model.vocab.begin < 0 {
			t.Fatal("this vocabulary adds none")
		}
		f := e.Info().Chat
		for _, segments := range [][]percached.Segment{f.Ask("Be brief.", nil, "When?"), f.Turn("When?")} {
			tokens, err := e.Tokenize(segments)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, s := range tokens {
				for _, token := range s {
					if token == e.model.vocab.begin {
						n++
					}
				}
			}
			if n != 1 || tokens[0][0] != e.model.vocab.begin {
				t.Errorf("template %.30q: %d begin tokens in %v", template, n, tokens)
			}
		}
	}
}

// Models that worked before templates were rendered have the frame that they had.
func TestFramesThatStay(t *testing.T) {
	chatML := percached.ChatFormat{
		Name: "chatml", System: "<|im_start|>system\n", Question: "<|im_end|>\n<|im_start|>user\n",
		Answer: "<|im_end|>\n<|im_start|>assistant\n", Lone: "<|im_start|>user\n",
	}
	nano, err := builtin.Nano(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]percached.ChatFormat{nano: chatML}
	t.Run("real", func(t *testing.T) {
		files[llmtest.RealModel(t, llmtest.SmolLM2)] = chatML
		files[llmtest.RealModel(t, llmtest.Gemma3)] = plainChat
	})
	for file, want := range files {
		c := Default()
		for _, render := range []renderer{apart(t), nil} {
			c.Model, c.Context, c.Threads, c.Render = file, 128, 1, render
			if render == nil && file != nano { // only of the built-in model llama.cpp must know the template
				continue
			}
			e, err := OpenEngine(t.Context(), c, NewGate())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, e.Info().Chat); diff != "" || len(e.marks) > 0 {
				t.Errorf("%s: frame (-want +got):\n%s\nmarks %v", file, diff, e.marks)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}
