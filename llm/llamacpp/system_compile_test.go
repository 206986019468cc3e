//go:build !system_llama

package llamacpp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What links an installed llama.cpp compiles against the headers of the bundled one: the
// oldest that is supported. So it stays sound where no other is installed.
func TestSystemCompiles(t *testing.T) {
	c := newCCompiler(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bridge.cpp", "bare.cpp", "late.cpp", "system.cpp"} {
		source := fmt.Sprintf("#include %q\n", filepath.Join(here, name))
		flags := append([]string{"-xc++", "-std=c++17", "-fsyntax-only", "-DPC_SYSTEM_LLAMA", "-DPC_LLAMA_VERSION=0.5.0-dev", "-I" + here}, c.real...)
		if err := c.run(t, source, flags...); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A header of a version that is not known is refused in words.
func TestSystemRefusesHeaders(t *testing.T) {
	c := newCCompiler(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ggml.h", "ggml-backend.h", "ggml-cpu.h"} {
		if err := os.WriteFile(filepath.Join(c.dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for versions, want := range map[string]string{
		"":                                 "names no version",
		"SESSION_VERSION 8/SEQ_VERSION 2":  "too old",
		"SESSION_VERSION 9/SEQ_VERSION 1":  "too old",
		"SESSION_VERSION 11/SEQ_VERSION 3": "newer than any",
		"SESSION_VERSION 10/SEQ_VERSION 4": "newer than any",
	} {
		header := ""
		if session, state, ok := strings.Cut(versions, "/"); ok {
			header = "#define LLAMA_" + session + "\n#define LLAMA_STATE_" + state + "\n"
		}
		if err := os.WriteFile(filepath.Join(c.dir, "llama.h"), []byte(header), 0o600); err != nil {
			t.Fatal(err)
		}
		err := c.run(t, "#include \"system.h\"\n", "-fsyntax-only", "-I"+here, "-I"+c.dir)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "supports llama.cpp from") {
			t.Errorf("%q: want an error with %q, got %v", versions, want, err)
		}
	}
}
