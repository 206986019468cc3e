package llamacpp

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
	"context"
	"strings"
	"unsafe"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
)

// Sentinels mark the text of a prompt while llama.cpp renders the model's chat template;
// no template trims or changes them.
const (
	sentinelSystem = "PERCACHED-INSTRUCTIONS-d41d8cd9"
	sentinelUser   = "PERCACHED-QUESTION-8f00b204"
)

// plainChat is for models without a template or with an unknown one.
var plainChat = percached.ChatFormat{
	Name: "plain", Question: "\n\nQuestion: ", Answer: "\nAnswer:", Lone: "Question: ",
	Stop: []string{"\n"}, // a base model would continue a chunk's dialogue or ask itself more questions
}

// chatFormat returns the format of a model's own template. It prefers llama.cpp's version
// if llama.cpp recognises the template and renders it equally, or if the template cannot
// be rendered.
func chatFormat(ctx context.Context, template string, ends endTokens, render renderer) percached.ChatFormat {
	if template == "" {
		return plainChat
	}
	known, ok := knownFormat(template)
	own, rendered := ownFormat(ctx, template, ends, render)
	switch {
	case rendered && !(ok && own.System == known.System && own.Question == known.Question && own.Answer == known.Answer):
		return own
	case ok:
		return known
	}
	return plainChat
}

// knownFormat is llama.cpp's version, cut at the sentinels.
func knownFormat(template string) (f percached.ChatFormat, ok bool) {
	both, ok := applyTemplate(template, sentinelSystem, sentinelUser)
	if !ok {
		return f, false
	}
	lone, ok := applyTemplate(template, "", sentinelUser)
	if !ok {
		return f, false
	}
	return cutFormat(both, lone)
}

// cutFormat cuts a prompt with instructions and one without at the sentinels, each of
// which must occur once.
func cutFormat(both, lone string) (f percached.ChatFormat, ok bool) {
	if strings.Count(both, sentinelSystem) != 1 || strings.Count(both, sentinelUser) != 1 || strings.Count(lone, sentinelUser) != 1 || strings.Contains(lone, sentinelSystem) {
		return f, false
	}
	var rest string
	f.Name = templateName(both)
	f.System, rest, _ = strings.Cut(both, sentinelSystem)
	f.Question, f.Answer, ok = strings.Cut(rest, sentinelUser)
	f.Lone, _, _ = strings.Cut(lone, sentinelUser)
	return f, ok
}

// templateName is the name of a format for people.
func templateName(text string) string {
	for _, n := range [][2]string{
		{"<|im_sep|>", "phi"}, // Phi-4; it also contains ChatML's tokens
		{"<|im_start|>", "chatml"},
		{"<|start_header_id|>", "llama3"},
		{"<start_of_turn>", "gemma"},
		{"<|end|>\n<|user|>", "phi"},
		{"[INST]", "llama2 or mistral"},
	} {
		if strings.Contains(text, n[0]) {
			return n[1]
		}
	}
	return "other"
}

func applyTemplate(template, system, user string) (string, bool) {
	ct, cu := C.CString(template), C.CString(user)
	defer C.free(unsafe.Pointer(ct))
	defer C.free(unsafe.Pointer(cu))
	var cs *C.char
	if system != "" {
		cs = C.CString(system)
		defer C.free(unsafe.Pointer(cs))
	}
	buf := make([]byte, 4096)
	n := C.pc_apply_template(ct, cs, cu, (*C.char)(unsafe.Pointer(&buf[0])), C.int32_t(len(buf)))
	if n <= 0 || int(n) > len(buf) {
		return "", false
	}
	return string(buf[:n]), true
}

// renderer is Config.Render.
type renderer func(ctx context.Context, template string, inputs []map[string]any) ([]string, error)

// maxFrame is the maximum size of a format, including a template's own instructions.
const maxFrame = 8 << 10

// ownFormat renders a model's template and cuts it at the sentinels. If the template has
// no place for instructions, they are put before the question.
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
			texts[i] = texts[i][len(ends.begin):] // otherwise the model would read it twice
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

// askNoThought sets the variables with which templates turn thinking off.
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

// endTokens are the begin and end tokens of a conversation, as templates write them.
type endTokens struct {
	begin, end string
	added      bool // the vocabulary adds the begin token to a prompt by itself
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
