package llmtest

import (
	"os"
	"path/filepath"
	"testing"
)

// The files of real models, which `make models` fetches.
const (
	SmolLM2 = "SmolLM2-135M-Instruct-Q4_1.gguf" // instruct, ChatML
	Gemma3  = "gemma-3-270m-Q4_K_M.gguf"        // base, without a chat template; attends in a sliding window
	MiniLM  = "all-MiniLM-L6-v2-F16.gguf"       // embedding model
)

// RealModel is the path of a real model. A test that needs one is skipped in short, and
// where the model is not there; without it, it fails if CI is set.
func RealModel(tb testing.TB, file string) string {
	tb.Helper()
	if testing.Short() {
		tb.Skip("real models are tested in long (make check)")
	}
	cache, err := os.UserCacheDir()
	path := filepath.Join(cache, "percached", "models", file)
	if err == nil {
		_, err = os.Stat(path)
	}
	switch {
	case err == nil:
		return path
	case os.Getenv("CI") != "":
		tb.Fatalf("the real model is missing: run 'make models' (%v)", err)
	default:
		tb.Skipf("NOT TESTED with a real model: run 'make models' (%v)", err)
	}
	return ""
}
