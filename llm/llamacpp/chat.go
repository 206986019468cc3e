package llamacpp

/*
#include <stdlib.h>
#include "bridge.h"
*/
import "C"

import (
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

// chatFormat cuts the model's template at the sentinels.
func chatFormat(template string) percached.ChatFormat {
	if template == "" {
		return plainChat
	}
	both, ok := applyTemplate(template, sentinelSystem, sentinelUser)
	if !ok {
		return plainChat
	}
	before, rest, ok := strings.Cut(both, sentinelSystem)
	if !ok {
		return plainChat
	}
	between, answer, ok := strings.Cut(rest, sentinelUser)
	if !ok {
		return plainChat
	}
	f := percached.ChatFormat{Name: templateName(both), System: before, Question: between, Answer: answer}
	lone, ok := applyTemplate(template, "", sentinelUser)
	if !ok {
		return plainChat
	}
	f.Lone, _, ok = strings.Cut(lone, sentinelUser)
	if !ok {
		return plainChat
	}
	return f
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
