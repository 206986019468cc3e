package llmtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

type embed = func(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error)

type bentEmbedder struct {
	*FakeEmbedder
	embed embed
	close func() error
}

func (b *bentEmbedder) Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
	return b.embed(ctx, p, texts)
}

func (b *bentEmbedder) Close() error { return b.close() }

// vectors bends what comes out.
func vectors(change func(texts []string, v [][]float32, err error) ([][]float32, error)) func(*bentEmbedder) {
	return func(b *bentEmbedder) {
		b.embed = func(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
			v, err := b.FakeEmbedder.Embed(ctx, p, texts)
			return change(texts, v, err)
		}
	}
}

func TestBrokenEmbedders(t *testing.T) {
	opened := 0
	broken := []struct {
		name  string
		bend  func(*bentEmbedder)
		found string
	}{
		{"says little", func(b *bentEmbedder) { b.info.Fingerprint = "" }, "embed/info"},
		{"is not normalised", vectors(func(_ []string, v [][]float32, err error) ([][]float32, error) {
			for _, x := range v {
				x[0] *= 1.5
			}
			return v, err
		}), "embed/unit"},
		{"depends on the batch", vectors(func(_ []string, v [][]float32, err error) ([][]float32, error) {
			for _, x := range v {
				x[3] += 1e-6 * float32(len(v))
			}
			return v, err
		}), "embed/same"},
		{"mixes up the order", vectors(func(_ []string, v [][]float32, err error) ([][]float32, error) {
			if len(v) > 1 {
				v[0], v[1] = v[1], v[0]
			}
			return v, err
		}), "embed/same"},
		{"reads nothing", func(b *bentEmbedder) {
			b.embed = func(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
				return b.FakeEmbedder.Embed(ctx, p, make([]string, len(texts)))
			}
		}, "embed/distinct"},
		{"refuses long texts", vectors(func(texts []string, v [][]float32, err error) ([][]float32, error) {
			for _, t := range texts {
				if len(t) > 2000 {
					return nil, fault.New(fault.Invalid, "test", "too long")
				}
			}
			return v, err
		}), "embed/long"},
		{"reads on", func(b *bentEmbedder) { b.opts.MaxTokens *= 10 }, "embed/long"},
		{"lends its vectors", func(b *bentEmbedder) {
			kept := map[string][]float32{}
			vectors(func(texts []string, v [][]float32, err error) ([][]float32, error) {
				for i, t := range texts {
					if kept[t] == nil {
						kept[t] = v[i]
					}
					v[i] = kept[t]
				}
				return v, err
			})(b)
		}, "embed/owned"},
		{"wants a text", vectors(func(texts []string, v [][]float32, err error) ([][]float32, error) {
			if len(texts) == 0 {
				return nil, errors.New("no texts")
			}
			return v, err
		}), "embed/none"},
		{"takes any priority", func(b *bentEmbedder) {
			b.embed = func(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
				return b.FakeEmbedder.Embed(ctx, min(p, 1), texts)
			}
		}, "embed/invalid"},
		{"changes with a restart", func(b *bentEmbedder) { opened++; b.info.Fingerprint = strings.Repeat(fmt.Sprint(opened), 8) }, "embed/restart"},
		{"ignores contexts", func(b *bentEmbedder) {
			b.embed = func(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
				return b.FakeEmbedder.Embed(context.WithoutCancel(ctx), p, texts)
			}
		}, "embed/cancel"},
		{"never closes", func(b *bentEmbedder) { b.close = func() error { return nil } }, "embed/close"},
	}
	seen := map[string]bool{}
	for _, br := range broken {
		seen[br.found] = true
		t.Run(br.name, func(t *testing.T) {
			s := Embedders{Open: func() (llm.Embedder, error) {
				f := NewFakeEmbedder(DefaultEmbedOptions())
				t.Cleanup(func() { _ = f.Close() })
				b := &bentEmbedder{FakeEmbedder: f, embed: f.Embed, close: f.Close}
				br.bend(b)
				return b, nil
			}}
			for _, c := range embedChecks() {
				if c.name != br.found {
					continue
				}
				err := doEmbed(s, 500*time.Millisecond, c.run)
				if err == nil {
					t.Fatal("the check passes")
				}
				t.Log(err)
			}
		})
	}
	for _, c := range embedChecks() {
		if !seen[c.name] {
			t.Errorf("no broken embedder shows that %q can fail", c.name)
		}
	}
}
