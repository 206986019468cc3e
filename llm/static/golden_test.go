package static

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The table and what comes of it were made by another program, in another
// language, after FORMAT.md alone.
func TestGolden(t *testing.T) {
	e, err := Open(context.Background(), "testdata/golden.table")
	if err != nil {
		t.Fatal(err)
	}
	if x, ok := e.Threshold(); x != 0.8125 || !ok || e.Info().Name != "golden" || e.Info().MaxTokens != 16 {
		t.Errorf("threshold %v, %+v", x, e.Info())
	}
	data, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Bytes  string
		Words  []string
		Rows   []int32
		Vector []float32
	}
	if err := json.Unmarshal(data, &cases); err != nil || len(cases) == 0 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for _, c := range cases {
		raw, err := hex.DecodeString(c.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		text := string(raw)
		if got := wordsOf(text); !slices.Equal(got, c.Words) {
			t.Errorf("%q: words %q, want %q", text, got, c.Words)
		}
		if got := e.words.tokenize(nil, text, e.Info().MaxTokens); !slices.Equal(got, c.Rows) {
			t.Errorf("%q: rows %v, want %v", text, got, c.Rows)
		}
		if d := cmp.Diff(c.Vector, embed(t, e, text)[0], cmpopts.EquateApprox(0, 1e-6)); d != "" {
			t.Errorf("%q:\n%s", text, d)
		}
	}
}
