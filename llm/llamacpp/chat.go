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
)

// Sentinels stand where the text of prompts goes while llama.cpp lays out the
// model's chat template; no template trims or changes them.
const (
	sentinelSystem = "PERCACHED-INSTRUCTIONS-d41d8cd9"
	sentinelUser   = "PERCACHED-QUESTION-8f00b204"
)

// plainChat is for models that name no template, or one that nobody knows.
var plainChat = percached.ChatFormat{
	Name: "plain", Question: "\n\nQuestion: ", Answer: "\nAnswer:", Lone: "Question: ",
	Stop: []string{"\n"}, // a base model goes on with the dialogue of a chunk, or asks itself further questions
}

// chatFormat is the frame that a model's own template makes. Where llama.cpp recognises
// the template and has the same, it is llama.cpp's; and so it is where the template
// cannot be rendered.
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

// knownFormat is llama.cpp's, cut at the sentinels.
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
// which must stand there once.
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

// templateName tells people what kind of frame it is.
func templateName(text string) string {
	for _, n := range [][2]string{
		{"<|im_sep|>", "phi"}, // Phi-4; it also has what ChatML has
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
