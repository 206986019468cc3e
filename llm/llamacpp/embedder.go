package llamacpp

/*
#include "bridge.h"
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
)

// Embedder turns texts into vectors with an embedding model of llama.cpp: BERT and
// similar models, or a language model trained for embedding. See llm.Embedder.
type Embedder struct {
	info   percached.EmbedderInfo
	model  *model
	c      *C.pc_context
	pace   *pace
	worker *worker
	// Tokens that the model needs around a text: [CLS] and [SEP], or an end token.
	before, after []int32
	threshold     float32 // 0: unknown

	life lifetime
}

var _ llm.Embedder = (*Embedder)(nil)

const (
	opOpenEmbedder = "llamacpp: open embedder"
	opEmbed        = "llamacpp: embed"
)

// DefaultEmbedder is Default for an embedding model. Context is the maximum length of a
// text in tokens, within the model's training context; memory grows with its square, and
// no chunk is longer. Split has no effect.
func DefaultEmbedder() Config {
	c := Default()
	c.Context = 2048
	return c
}

// OpenEmbedder loads an embedding model and starts its worker.
func OpenEmbedder(ctx context.Context, c Config, g *Gate) (*Embedder, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.onFastCores()
	m, err := openModel(ctx, c, func(f *gguf.File) (kv, scratch int64) {
		of := c
		of.Split = c.Context
		if trained, ok := f.Int(f.Key("context_length")); ok {
			of.Split = int(min(int64(c.Context), trained)) // each text is computed in one batch
		}
		return contextBytes(f, of)
	})
	if err != nil {
		return nil, err
	}
	e := &Embedder{model: m}
	c.GPULayers = m.gpu.layers
	if err := e.open(c); err != nil {
		e.free()
		return nil, err
	}
	e.worker = g.newWorker(c.Queue, c.cores, m.stop)
	if err := e.measureThreshold(ctx, c.Model); err != nil {
		return nil, errors.Join(fault.New(fault.Timeout, opOpenEmbedder, "%w", err), e.Close())
	}
	return e, nil
}

var poolings = map[C.enum_llama_pooling_type]string{
	C.LLAMA_POOLING_TYPE_MEAN: "mean", C.LLAMA_POOLING_TYPE_CLS: "cls", C.LLAMA_POOLING_TYPE_LAST: "last",
}

func (e *Embedder) open(c Config) error {
	m := e.model
	arch := m.file.Architecture()
	if bool(C.llama_model_has_encoder(m.c)) || !bool(C.llama_model_has_decoder(m.c)) {
		return fault.New(fault.Unsupported, opOpenEmbedder, "%s is of an encoder-decoder kind, which percached does not run", c.Model)
	}
	size := min(c.Context, int(C.llama_model_n_ctx_train(m.c)))
	p := C.llama_context_default_params()
	p.n_ctx, p.n_batch, p.n_ubatch = C.uint32_t(size), C.uint32_t(size), C.uint32_t(size)
	p.n_seq_max = 1
	p.n_threads, p.n_threads_batch = C.int32_t(c.Threads), C.int32_t(c.Threads)
	p.flash_attn_type = c.flash(true)
	p.embeddings, p.kv_unified = true, true
	family := familyOf(m.file, c.Model)
	if !m.file.Has(arch + ".pooling_type") {
		p.pooling_type = C.LLAMA_POOLING_TYPE_MEAN
		if causal, ok := m.file.Bool(arch + ".attention.causal"); !ok || causal {
			p.pooling_type = C.LLAMA_POOLING_TYPE_LAST
		}
		for number, name := range poolings {
			if name == family.pooling {
				p.pooling_type = number
			}
		}
	}
	c.cores.during(func() { e.c = C.pc_context_new(m.c, p, m.flags, false, C.bool(m.fetch)) })
	e.pace = newPace(c.Threads, c.cores)
	if e.c == nil {
		return fault.New(fault.Unsupported, opOpenEmbedder, "%s: %s", c.Model, takeErrors())
	}
	pooling, ok := poolings[C.llama_pooling_type(C.pc_llama(e.c))]
	if !ok {
		return fault.New(fault.Unsupported, opOpenEmbedder, "%s does not pool its tokens into one vector: it is no embedding model", c.Model)
	}
	e.info = percached.EmbedderInfo{
		Name: m.file.Name(), Architecture: arch, Dimensions: int(C.pc_vector_width(m.c)), MaxTokens: size, Pooling: pooling,
		QueryPrefix: family.query, DocumentPrefix: family.document,
	}
	if c.QueryPrefix != nil {
		e.info.QueryPrefix = *c.QueryPrefix
	}
	if c.DocumentPrefix != nil {
		e.info.DocumentPrefix = *c.DocumentPrefix
	}
	e.info.Fingerprint = e.fingerprint()
	return e.frame()
}

// fingerprint keeps the value of earlier versions for a model without prefixes.
func (e *Embedder) fingerprint() string {
	i := e.info
	parts := []any{e.model.hash, engineVersion(e.model.gpuLayers()), i.Pooling, i.MaxTokens}
	if i.QueryPrefix != "" || i.DocumentPrefix != "" {
		parts = append(parts, fmt.Sprintf("%q", []string{i.QueryPrefix, i.DocumentPrefix}))
	}
	return fingerprint(parts...)
}

// frame finds out which tokens the tokeniser puts around a text.
func (e *Embedder) frame() error {
	const word = "a"
	body, err := e.model.vocab.tokenize(nil, word, false, false)
	if err != nil {
		return err
	}
	whole, err := e.model.vocab.framed(word)
	if err != nil {
		return err
	}
	for i := 0; i+len(body) <= len(whole); i++ {
		if slices.Equal(whole[i:i+len(body)], body) {
			e.before, e.after = whole[:i], whole[i+len(body):]
			break
		}
	}
	if len(e.before)+len(e.after) >= e.info.MaxTokens {
		return fault.New(fault.Invalid, opOpenEmbedder, "a context of %d tokens leaves no room for text", e.info.MaxTokens)
	}
	return nil
}

// Info describes the model.
func (e *Embedder) Info() percached.EmbedderInfo { return e.info }

// Embed computes the vectors of texts, each of length 1. It truncates longer texts.
func (e *Embedder) Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
	tokens, err := e.tokenize(texts)
	if err != nil {
		return nil, err
	}
	out := make([][]float32, 0, len(texts))
	err = e.worker.do(ctx, p, func(ctx context.Context) error {
		for _, t := range tokens {
			v, err := e.compute(ctx, t)
			if err != nil {
				return err
			}
			out = append(out, v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (e *Embedder) tokenize(texts []string) ([][]int32, error) {
	if err := e.life.enter(); err != nil {
		return nil, err
	}
	defer e.life.leave()
	room := e.info.MaxTokens - len(e.before) - len(e.after)
	out := make([][]int32, len(texts))
	for i, text := range texts {
		// Text far after the limit need not be tokenised.
		if len(text) > 64*room {
			text = text[:64*room]
		}
		body, err := e.model.vocab.append(nil, percached.Text{Text: text})
		if err != nil {
			return nil, err
		}
		out[i] = slices.Concat(e.before, body[:min(len(body), room)], e.after)
		if len(out[i]) == 0 {
			out[i] = []int32{0} // a model without a frame still needs a token
		}
	}
	return out, nil
}

// compute runs each text in its own batch. Kernels differ by batch size, so a text's
// vector would otherwise depend on the other texts. Eight texts in one batch were 17 %
// faster at 14 tokens each, and no faster at 140.
func (e *Embedder) compute(ctx context.Context, tokens []int32) ([]float32, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	e.pace.set(e.c)
	rc := C.pc_embed(e.c, (*C.llama_token)(&tokens[0]), C.int32_t(len(tokens)))
	switch {
	case rc != 0 && ctx.Err() != nil:
		takeErrors() // drop the abort's message, which is not an error
		return nil, context.Cause(ctx)
	case rc != 0:
		return nil, fault.New(fault.Internal, opEmbed, "llama.cpp returned %d: %s", int(rc), takeErrors())
	}
	p := C.llama_get_embeddings_seq(C.pc_llama(e.c), 0)
	if p == nil {
		return nil, fault.New(fault.Internal, opEmbed, "llama.cpp gave no vector: %s", takeErrors())
	}
	v := slices.Clone(unsafe.Slice((*float32)(p), e.info.Dimensions))
	if !normalise(v) {
		if mem := C.llama_get_memory(C.pc_llama(e.c)); mem != nil {
			C.llama_memory_clear(mem, true) // the next text must not see it
		}
		return nil, fault.New(fault.Internal, opEmbed, "%w", llm.ErrNotFinite)
	}
	return v, nil
}

// normalise scales v to length 1; false if that is impossible.
func normalise(v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	norm := math.Sqrt(sum)
	if norm == 0 || math.IsNaN(norm) || math.IsInf(norm, 0) {
		return false
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / norm)
	}
	return true
}

// Close ends running work, waits for it, and frees everything.
func (e *Embedder) Close() error {
	e.worker.close()
	e.life.end(e.free)
	return nil
}

func (e *Embedder) free() {
	if e.c != nil {
		C.pc_context_free(e.c)
	}
	e.model.free()
}
