package qabank_test

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/static"
	"github.com/percached/percached/models"
	"github.com/percached/percached/qabank/gate"
	"github.com/percached/percached/qabank/wording"
)

// pair is a line of the data: a stored question, an asked one, and their difference, or
// that they are paraphrases.
type pair struct{ Stored, Asked, Kind string }

func readPairs(t *testing.T, path string) []pair {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []pair
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var p pair
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatalf("%s, line %d: %v", path, len(out)+1, err)
		}
		out = append(out, p)
	}
	return out
}

func embedder(t testing.TB) (*static.Embedder, float64) {
	t.Helper()
	e, err := static.Parse(context.Background(), "nano-embed", models.NanoEmbed())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	threshold, _ := e.Threshold()
	return e, float64(threshold)
}

func embed(t testing.TB, e *static.Embedder, text string) []float32 {
	t.Helper()
	v, err := e.Embed(context.Background(), percached.Foreground, []string{text})
	if err != nil {
		t.Fatal(err)
	}
	return v[0]
}

// No trap may pass as a paraphrase, and enough paraphrases must pass. The shares are
// lower limits against regressions; -v prints the measured ones.
func TestPairs(t *testing.T) {
	e, threshold := embedder(t)
	for _, test := range []struct {
		file  string
		floor float64
	}{
		{"testdata/tune.jsonl", 0.82},
		{"testdata/second.jsonl", 0.78},
		{"testdata/third.jsonl", 0.45},
		{"testdata/fourth.jsonl", 0.40},
		{"testdata/whom.jsonl", 0},
	} {
		t.Run(test.file, func(t *testing.T) {
			type count struct{ n, worded, near, both int }
			var traps, paraphrases count
			for _, p := range readPairs(t, test.file) {
				c := &traps
				if p.Kind == "paraphrase" {
					c = &paraphrases
				}
				differs := wording.Compare(p.Stored, p.Asked)
				if back := wording.Compare(p.Asked, p.Stored); (len(back) == 0) != (len(differs) == 0) {
					t.Errorf("%q and %q: %v one way, %v the other", p.Stored, p.Asked, differs, back)
				}
				near := float64(percached.Dot(embed(t, e, p.Stored), embed(t, e, p.Asked))) >= threshold
				c.n++
				if len(differs) == 0 {
					c.worded++
				}
				if near {
					c.near++
				}
				if near && len(differs) == 0 {
					c.both++
				}
				if p.Kind != "paraphrase" && len(differs) == 0 {
					t.Errorf("%s: %q would be answered as %q", p.Kind, p.Asked, p.Stored)
				}
			}
			for _, c := range []struct {
				name string
				count
			}{{"traps", traps}, {"paraphrases", paraphrases}} {
				if c.n == 0 {
					continue
				}
				for _, r := range []struct {
					name string
					k    int
				}{{"wording alone", c.worded}, {"similarity alone", c.near}, {"both", c.both}} {
					low, high := gate.Wilson(float64(r.k), float64(c.n))
					t.Logf("%-12s %-17s %3d of %3d pass: %5.1f %% (%4.1f to %4.1f)", c.name, r.name, r.k, c.n, 100*float64(r.k)/float64(c.n), 100*low, 100*high)
				}
			}
			if paraphrases.n == 0 {
				return
			}
			if share := float64(paraphrases.worded) / float64(paraphrases.n); share < test.floor {
				t.Errorf("%.3f of the paraphrases pass, fewer than %.3f", share, test.floor)
			}
		})
	}
}
