package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
)

const (
	embedTokens = 512 // of a text, unless the server says that it reads more
	embedMost   = 2048
	embedBatch  = 32 // texts of one request
	leastText   = 64 // bytes; a shorter text that the server refuses is refused
	// nothing is embedded in place of an empty text, which many servers refuse.
	nothing = "-"
)

// EmbedderConfig is how a server's embedding model is reached. Prefixes that are nil are empty.
type EmbedderConfig struct {
	Config
	QueryPrefix, DocumentPrefix *string
}

// Embedder implements llm.Embedder on a server.
type Embedder struct {
	*client
	info    percached.EmbedderInfo
	named   string      // the model by the configuration; empty: the server's only one
	changed atomic.Bool // the server has another model

	mu      sync.Mutex
	closed  bool
	calls   sync.WaitGroup
	last    int                             // number of the latest call
	running map[int]context.CancelCauseFunc // by number
}

var _ llm.Embedder = (*Embedder)(nil)

// OpenEmbedder connects to a server and embeds one text.
func OpenEmbedder(ctx context.Context, c EmbedderConfig) (*Embedder, error) {
	e := &Embedder{client: newClient(c.Config), named: c.Model, running: map[int]context.CancelCauseFunc{}}
	if err := e.open(ctx, c); err != nil {
		_ = e.Close()
		return nil, err
	}
	return e, nil
}

func (e *Embedder) open(ctx context.Context, c EmbedderConfig) error {
	var s server
	err := e.await(ctx, func() (err error) {
		s, err = e.ask(ctx, e.named)
		return err
	})
	if err != nil {
		return err
	}
	e.Model = s.model
	e.info = percached.EmbedderInfo{Name: s.model, Architecture: "server", MaxTokens: embedTokens}
	if s.context > 0 {
		e.info.MaxTokens = min(s.context, embedMost)
	}
	if c.QueryPrefix != nil {
		e.info.QueryPrefix = *c.QueryPrefix
	}
	if c.DocumentPrefix != nil {
		e.info.DocumentPrefix = *c.DocumentPrefix
	}
	one, err := e.vectors(ctx, []string{"dimensions"})
	if err != nil {
		return err
	}
	e.info.Dimensions = len(one[0])
	e.info.Fingerprint = e.fingerprint(s)
	return nil
}

// fingerprint identifies the vectors of a server.
func (e *Embedder) fingerprint(s server) string {
	sum := sha256.New()
	for _, v := range append([]string{"openai", s.model, fmt.Sprint(e.info.Dimensions, e.info.MaxTokens), e.info.QueryPrefix, e.info.DocumentPrefix}, s.identity...) {
		sum.Write(append([]byte(v), 0))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// Check asks the server again what it is. It fails if the server has another model than when it
// was opened: its vectors cannot be compared with those of documents.
func (e *Embedder) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if s, err := e.ask(ctx, e.named); err == nil {
		e.changed.Store(e.fingerprint(s) != e.info.Fingerprint)
	}
	if e.changed.Load() {
		return fault.New(fault.Unavailable, op, "%s embeds with another model now: restart percached, which then embeds everything anew", e.host())
	}
	return nil
}

// Info implements llm.Embedder.
func (e *Embedder) Info() percached.EmbedderInfo { return e.info }

// Embed implements llm.Embedder.
func (e *Embedder) Embed(ctx context.Context, p percached.Priority, texts []string) ([][]float32, error) {
	const op = "percached: embed"
	if p > percached.Background {
		return nil, fault.New(fault.Invalid, op, "unknown priority %d", p)
	}
	ctx, leave, err := e.enter(ctx)
	if err != nil {
		return nil, fault.Wrap(op, err)
	}
	defer leave()
	all := make([][]float32, 0, len(texts))
	for at := 0; at < len(texts); at += embedBatch {
		batch := make([]string, 0, embedBatch)
		for _, t := range texts[at:min(at+embedBatch, len(texts))] {
			batch = append(batch, e.cut(t))
		}
		got, err := e.vectors(ctx, batch)
		if err != nil {
			return nil, fault.Wrap(op, err)
		}
		all = append(all, got...)
	}
	if e.changed.Load() || e.mayHaveChanged() {
		if err := e.Check(ctx); err != nil {
			return nil, fault.Wrap(op, err)
		}
	}
	return all, nil
}

// enter begins a call, whose context ends with Close too.
func (e *Embedder) enter(ctx context.Context) (context.Context, func(), error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return nil, nil, llm.ErrClosed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	e.last++
	call := e.last
	e.running[call] = cancel
	e.calls.Add(1)
	return ctx, func() {
		cancel(nil)
		e.mu.Lock()
		delete(e.running, call)
		e.mu.Unlock()
		e.calls.Done()
	}, nil
}

// cut is a text as it is sent: no longer than the model reads, and not empty.
func (e *Embedder) cut(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	at := 0
	for n := 0; n < e.info.MaxTokens && at < len(text); n++ {
		_, letter := utf8.DecodeRuneInString(text[at:]) // embedding models have tokens for all writing; shorter helps where not
		at += max(runLength(text[at:]), letter)
	}
	text = text[:at]
	if strings.TrimSpace(text) == "" {
		return nothing
	}
	return text
}

// embedded is the response to a request for vectors.
type embedded struct {
	Data []struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	} `json:"data"`
}

// vectors embeds texts. If the server refuses them, because one is too long for it, it embeds
// each alone, and the beginning of one that is refused alone.
func (e *Embedder) vectors(ctx context.Context, texts []string) ([][]float32, error) {
	var got embedded
	err := e.post(ctx, "/v1/embeddings", map[string]any{"model": e.Model, "input": texts, "encoding_format": "float"}, &got)
	if fault.KindOf(err) == fault.Invalid {
		return e.shorter(ctx, texts, err)
	}
	if err != nil {
		return nil, err
	}
	all := make([][]float32, len(texts))
	for _, d := range got.Data {
		if d.Index < 0 || d.Index >= len(all) || all[d.Index] != nil || !normalise(d.Embedding) || e.info.Dimensions > 0 && len(d.Embedding) != e.info.Dimensions {
			return nil, fault.New(fault.Unavailable, op, "%s returned vectors that do not fit the texts", e.host())
		}
		all[d.Index] = d.Embedding
	}
	if len(got.Data) != len(texts) {
		return nil, fault.New(fault.Unavailable, op, "%s returned %d vectors for %d texts", e.host(), len(got.Data), len(texts))
	}
	return all, nil
}

func (e *Embedder) shorter(ctx context.Context, texts []string, why error) ([][]float32, error) {
	if len(texts) == 1 {
		if len(texts[0]) < leastText {
			return nil, why
		}
		return e.vectors(ctx, []string{strings.ToValidUTF8(texts[0][:len(texts[0])/2], "")})
	}
	var all [][]float32
	for _, t := range texts {
		one, err := e.vectors(ctx, []string{t})
		if err != nil {
			return nil, err
		}
		all = append(all, one...)
	}
	return all, nil
}

// normalise makes a vector one of length 1. It reports whether that is possible.
func normalise(v []float32) bool {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if !(sum > 0) || math.IsInf(sum, 0) {
		return false
	}
	for i := range v {
		v[i] = float32(float64(v[i]) / math.Sqrt(sum))
	}
	return true
}

// Close implements llm.Embedder.
func (e *Embedder) Close() error {
	e.mu.Lock()
	e.closed = true
	for _, cancel := range e.running {
		cancel(llm.ErrClosed)
	}
	e.mu.Unlock()
	e.calls.Wait()
	e.close()
	return nil
}
