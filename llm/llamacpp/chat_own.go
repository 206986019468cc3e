package llamacpp

import (
	"context"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
)

// renderer is Config.Render.
type renderer func(ctx context.Context, template string, inputs []map[string]any) ([]string, error)

// maxFrame is how long a frame may be; a template's own instructions count, too.
const maxFrame = 8 << 10

// ownFormat renders a model's template and cuts it at the sentinels. Where the template
// has no place for instructions, they stand at the head of the question's turn.
func ownFormat(ctx context.Context, template string, ends endTokens, render renderer) (f percached.ChatFormat, ok bool) {
	if render == nil {
		return f, false
	}
	instructions := map[string]any{"role": "system", "content": sentinelSystem}
	user := func(text string) map[string]any { return map[string]any{"role": "user", "content": text} }
	var inputs []map[string]any
	for _, messages := range [][]map[string]any{{instructions, user(sentinelUser)}, {user(sentinelSystem + "\n\n" + sentinelUser)}, {user(sentinelUser)}} {
		vars := map[string]any{"messages": messages, "add_generation_prompt": true, "bos_token": ends.begin, "eos_token": ends.end}
		askNoThought(template, vars)
		inputs = append(inputs, vars)
	}
	texts, err := render(ctx, template, inputs)
	if err != nil || len(texts) != len(inputs) {
		return f, false
	}
	for i := range texts {
		for ends.added && ends.begin != "" && strings.HasPrefix(texts[i], ends.begin) {
			texts[i] = texts[i][len(ends.begin):] // or the model would read it twice
		}
		if len(texts[i]) > maxFrame {
			return f, false
		}
	}
	if f, ok = cutFormat(texts[0], texts[2]); ok {
		return f, true
	}
	return cutFormat(texts[1], texts[2])
}

// askNoThought sets what templates ask for, to know whether the model is to think.
func askNoThought(template string, vars map[string]any) {
	vars["enable_thinking"] = false    // Qwen3, GLM, SmolLM3, Gemma 4 and most others
	vars["thinking"] = false           // DeepSeek, Granite
	vars["thinking_mode"] = "disabled" // MiniMax
	vars["thinking_budget"] = 0        // Seed-OSS
	if !strings.Contains(template, "reasoning_effort") {
		return
	}
	if strings.Contains(template, "<|channel|>") { // gpt-oss names none
		vars["reasoning_effort"] = "low"
	}
	for _, least := range []string{"no_think", "none", "minimal", "low"} { // Hunyuan, Command, Solar
		if strings.Contains(template, `"`+least+`"`) || strings.Contains(template, "'"+least+"'") {
			vars["reasoning_effort"] = least
			return
		}
	}
}

// endTokens are the texts of the tokens that begin and end a conversation, as templates
// write them.
type endTokens struct {
	begin, end string
	added      bool // the vocabulary puts begin before a prompt by itself
}

func newEndTokens(t gguf.Tokenizer, added bool) endTokens {
	text := func(id int64) string {
		if id < 0 || id >= int64(len(t.Tokens)) {
			return ""
		}
		return t.Tokens[id]
	}
	return endTokens{text(t.BOS), text(t.EOS), added}
}
