package llamacpp

/*
#include "bridge.h"
*/
import "C"

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
)

// Engine runs prompts through a language model with llama.cpp. See llm.Engine.
type Engine struct {
	info      percached.ModelInfo
	checker   sliceChecker
	model     *model
	cache     *cache
	typing    *typing // nil: nobody types
	config    Config
	forget    atomic.Bool  // typed texts
	typed     atomic.Int64 // bytes of typing
	typingEnd *time.Timer  // closes the context for typing
	marks     []mark       // of thoughts
	tempo     tempo        // of answers
	worker    *worker
	params    C.struct_llama_context_params
	life      lifetime
}

var _ llm.Engine = (*Engine)(nil)

const opOpen = "llamacpp: open engine"

// OpenEngine loads a language model and starts its worker. ctx limits only the loading.
func OpenEngine(ctx context.Context, c Config, g *Gate) (*Engine, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c = c.onFastCores()
	m, err := openModel(ctx, c, func(f *gguf.File) (kv, scratch int64) { return contextBytes(f, c) })
	if err != nil {
		return nil, err
	}
	c.GPULayers = m.gpu.layers
	e := &Engine{model: m, config: c}
	if err := e.open(ctx, c); err != nil {
		e.free()
		return nil, err
	}
	e.worker = g.newWorker(c.Queue, c.cores, m.stop)
	e.typingEnd = time.AfterFunc(typingIdle, e.endTyping)
	e.typingEnd.Stop()
	return e, nil
}

// contextBytes estimates the context's memory: keys and values of every cell, and scratch
// memory for one batch.
func contextBytes(f *gguf.File, c Config) (kv, scratch int64) {
	get := func(key string) int64 {
		v, _ := f.Uint(f.Architecture() + "." + key)
		return int64(min(v, math.MaxInt32))
	}
	heads, width := max(1, get("attention.head_count")), get("embedding_length")
	headsKV := get("attention.head_count_kv")
	if headsKV == 0 {
		headsKV = heads
	}
	head := get("attention.key_length")
	if head == 0 {
		head = width / heads
	}
	context := min(int64(c.Context), max(get("context_length"), 1))
	perType := map[string]float64{"f16": 2, "q8_0": 34.0 / 32, "q4_0": 18.0 / 32}
	cells := float64(context*get("block_count")*headsKV*head) * (perType[c.KeyType] + perType[c.ValueType])
	perToken := 6*width + 3*get("feed_forward_length")
	causal, ok := f.Bool(f.Key("attention.causal"))
	encoder := ok && !causal
	if c.flash(encoder) == flashOff {
		perToken += heads * context // attention scores
	}
	if encoder {
		cells = 0
	} else {
		perToken += int64(f.Len("tokenizer.ggml.tokens"))
	}
	return int64(cells), 4*int64(c.Split)*perToken + 16<<20
}

func (e *Engine) open(ctx context.Context, c Config) error {
	m := e.model
	if causal, ok := m.file.Bool(m.file.Architecture() + ".attention.causal"); ok && !causal {
		return fault.New(fault.Unsupported, opOpen, "%s is an embedding model: it does not write text", c.Model)
	}
	if bool(C.llama_model_has_encoder(m.c)) || !bool(C.llama_model_has_decoder(m.c)) {
		return fault.New(fault.Unsupported, opOpen, "%s is an encoder-decoder model, which percached does not run", c.Model)
	}
	head := m.headSize("key")
	for _, plane := range []struct {
		kept string
		head int
	}{{c.KeyType, head}, {c.ValueType, m.headSize("value")}} {
		if plane.kept != "f16" && plane.head%32 != 0 {
			return fault.New(fault.Unsupported, opOpen, "K/V type %s wants heads of a multiple of 32 numbers; this model's have %d", plane.kept, plane.head)
		}
	}
	train := int(C.llama_model_n_ctx_train(m.c))
	size := min(c.Context, train)
	split := min(c.Split, size)
	p := C.llama_context_default_params()
	p.n_ctx = C.uint32_t(size)
	p.n_batch, p.n_ubatch = C.uint32_t(split), C.uint32_t(split)
	p.n_seq_max = sequences
	p.n_threads, p.n_threads_batch = C.int32_t(c.Threads), C.int32_t(c.Threads)
	p.flash_attn_type = c.flash(false)
	p.type_k, p.type_v = kvTypes[c.KeyType], kvTypes[c.ValueType]
	p.kv_unified = true
	p.swa_full = true // layers with a sliding window keep all tokens, so that every part can be stored
	e.params = p
	k := &cache{vocabulary: m.vocab.size, split: split, layers: int(C.llama_model_n_layer(m.c)), pace: newPace(c.Threads, c.cores)}
	c.cores.during(func() { k.c = C.pc_context_new(m.c, p, m.flags, true, C.bool(m.fetch)) })
	if k.c == nil {
		return fault.New(fault.Unsupported, opOpen, "%s: %s", c.Model, takeErrors())
	}
	e.cache = k
	if C.llama_get_memory(C.pc_llama(k.c)) == nil {
		return fault.New(fault.Unsupported, opOpen, "%s keeps no memory of earlier tokens: it is an embedding model", c.Model)
	}
	name, _ := m.file.Str("general.name")
	e.info = percached.ModelInfo{
		Name: name, Architecture: m.file.Architecture(),
		Parameters: uint64(C.llama_model_n_params(m.c)), WeightBytes: uint64(C.llama_model_size(m.c)),
		Layers: k.layers, Width: int(C.llama_model_n_embd(m.c)),
		Heads: int(C.llama_model_n_head(m.c)), HeadsKV: int(C.llama_model_n_head_kv(m.c)),
		HeadSize: head, FeedForward: feedForward(m.file),
		Vocabulary: m.vocab.size, TrainContext: train, Context: size, Split: split, Threads: c.Threads,
		KeyType: c.KeyType, ValueType: c.ValueType, FlashAttn: c.flash(false) != flashOff,
		GPULayers: m.gpuLayers(), Window: int(C.llama_model_n_swa(m.c)), NoSlices: m.noSlices(), NoParallel: m.noParallel(),
	}
	template, tokenizer := C.GoString(C.llama_model_chat_template(m.c, nil)), m.file.Tokenizer()
	e.marks = thoughtMarks(template, tokenizer.Tokens)
	e.info.Chat = chatFormat(ctx, template, newEndTokens(tokenizer, m.vocab.begin >= 0), c.Render)
	e.info.Chat.Tools = !e.info.Chat.Plain() && strings.Contains(template, "tools")
	e.info.Chat.Answer = withoutThought(e.info.Chat.Answer, e.marks)
	if err := e.learn(cmp.Or(c.piece, pieceBytes)); err != nil {
		return err
	}
	even, err := e.evenBatches(ctx)
	if !even {
		e.info.NoDrafts = cmp.Or(e.info.NoSlices, e.info.NoParallel, "a token alone is computed with other bits than in a batch")
	}
	return err
}

// learn computes one token to find out how this context stores its tensors and whether it
// uses flash attention. That completes the fingerprint.
func (e *Engine) learn(piece int) error {
	ctx, k, m := context.Background(), e.cache, e.model
	probe := &step{tokens: []int32{max(0, m.vocab.begin)}}
	k.queryWidth = m.queryWidth()
	q := newQueries(k.layers, 1, k.queryWidth)
	for i := range q.data {
		q.data[i] = unwritten
	}
	k.clear(false)
	if err := k.compute(ctx, probe, mainSeq, true, q); err != nil {
		return err
	}
	if logits, err := k.logits(); err != nil {
		return err
	} else if !finite(logits) {
		return fault.New(fault.Unsupported, opOpen, "the model computes scores that are not numbers: its weights are damaged")
	}
	for _, v := range q.data {
		if v == unwritten {
			k.queryWidth = 0 // this architecture names its queries differently
			break
		}
	}
	takeErrors()
	if e.info.NoSlices == "" {
		buf := make([]byte, C.llama_state_seq_get_size(C.pc_llama(k.c), mainSeq))
		if len(buf) > 0 {
			C.llama_state_seq_get_data(C.pc_llama(k.c), (*C.uint8_t)(&buf[0]), C.size_t(len(buf)), mainSeq)
		}
		attends, recurrent := m.recurrence()
		l, err := readLayout(buf, 1, attends, recurrent)
		if err == nil {
			err = l.check(buf, 0, 1)
		}
		switch {
		case err != nil:
			e.info.NoSlices = fmt.Sprintf("llama.cpp lays out its tensors in an unknown way: a token's state %v", err)
		case recurrent && l.window != nil && l.lead != 0:
			e.info.NoSlices = "the model is partly recurrent, and this llama.cpp leaves out of its state what a sliding window no longer sees"
		case l.recurrent.tooLarge() != "":
			e.info.NoSlices = l.recurrent.tooLarge()
		default:
			k.layout = l
			k.pieceTokens = l.tokensIn(piece, e.info.Window)
			if recurrent {
				k.pieceTokens = e.info.Context // a recurrent state exists only at the segment's end
			}
			e.info.FlashAttn = !l.transposed
			e.info.BytesPerToken = l.bytesPerToken()
		}
	}
	k.clear(true)
	r := CPU()
	parts := []any{
		m.hash, engineVersion(m.gpuLayers()), r.Arch, r.Compiler, r.Compiled,
		e.info.KeyType, e.info.ValueType, e.info.FlashAttn, e.info.Split, longRope(m.file, e.info.Context),
	}
	if m.mapped() {
		parts = append(parts, "mapped") // another layout of weights would give other bits
	}
	e.info.Fingerprint = fingerprint(parts...)
	e.checker = sliceChecker{fingerprint: e.info.Fingerprint, layout: k.layout, noSlices: e.info.NoSlices, queryWidth: k.queryWidth}
	return nil
}

// longRope reports which of two sets of rotation factors llama.cpp uses, for models with
// both; it depends on the context's size.
func longRope(f *gguf.File, context int) bool {
	_, both := f.Tensor("rope_factors_long.weight")
	trained, ok := f.Uint(f.Key("rope.scaling.original_context_length"))
	return both && (!ok || uint64(context+255)/256*256 > trained)
}

// unwritten is a half-precision bit pattern that no query has: a NaN.
const unwritten = 0x7e5a

// Info describes the model.
func (e *Engine) Info() percached.ModelInfo { return e.info }

// Tokenize returns the tokens of each segment.
func (e *Engine) Tokenize(segs []percached.Segment) ([][]int32, error) {
	if err := e.life.enter(); err != nil {
		return nil, err
	}
	defer e.life.leave()
	return e.model.vocab.segments(segs)
}

// Close ends running work, waits for it, and frees everything.
func (e *Engine) Close() error {
	e.typingEnd.Stop()
	e.worker.close()
	e.life.end(e.free)
	return nil
}

func (e *Engine) free() {
	e.closeTyping()
	if e.cache != nil {
		C.pc_context_free(e.cache.c)
	}
	e.model.free()
}
