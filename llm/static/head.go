package static

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/gguf"
)

// Names of the format, and its version.
const (
	architecture = "static"
	version      = 1

	keyVersion   = "static.version"
	keyDim       = "static.embedding_length"
	keyContext   = "static.context_length"
	keyHashed    = "static.hash_rows"
	keyThreshold = "static.threshold"
	keyModel     = "tokenizer.ggml.model"
	keyTokens    = "tokenizer.ggml.tokens"
	tensorRows   = "token_embd.weight"
)

// Limits above every real table. With them and maxValue, no sum of rows overflows.
const (
	maxDim     = 1 << 14
	maxContext = 1 << 20
	maxHashed  = 1 << 24
	maxToken   = 256 // bytes
)

// head is a table's description of itself, before its rows.
type head struct {
	name      string
	dim       int
	context   int
	hashed    int
	threshold *float32
	tokens    []string
	tensor    gguf.Tensor
}

// headReader keeps its first fault.
type headReader struct {
	*gguf.File
	err error
}

func (r *headReader) fail(k fault.Kind, format string, args ...any) {
	if r.err == nil {
		r.err = fault.New(k, opOpen, format, args...)
	}
}

func checkArchitecture(f *gguf.File) error {
	switch arch := f.Architecture(); arch {
	case architecture:
		return nil
	case "":
		return fault.New(fault.Invalid, opOpen, "general.architecture is missing or not a name")
	default:
		return fault.New(fault.Unsupported, opOpen, "the file is of architecture %q; a table of word vectors is %q", arch, architecture)
	}
}

func readHead(f *gguf.File) (*head, error) {
	if err := checkArchitecture(f); err != nil {
		return nil, err
	}
	r := &headReader{File: f}
	if r.Has(keyVersion) {
		if v := r.count(keyVersion, 1, math.MaxUint32); v > version {
			r.fail(fault.Unsupported, "%s is %d, and versions up to %d are known here: a later percached made this table", keyVersion, v, version)
		}
	}
	h := &head{
		name:      r.text("general.name"),
		dim:       r.count(keyDim, 1, maxDim),
		context:   r.count(keyContext, 1, maxContext),
		hashed:    r.count(keyHashed, 0, maxHashed),
		threshold: r.similarity(keyThreshold),
	}
	if m := r.text(keyModel); m != architecture {
		r.fail(fault.Unsupported, "%s is %q and must be %q", keyModel, m, architecture)
	}
	h.tokens = r.tokens()
	h.tensor = r.rows(h)
	return h, r.err
}

// want checks that the key exists and has this kind.
func (r *headReader) want(key string, want gguf.Kind, array bool) bool {
	kind, n, ok := r.Kind(key)
	is, must := fmt.Sprint(kind), fmt.Sprint(want)
	if n >= 0 {
		is = fmt.Sprintf("array of %d %v", n, kind)
	}
	if array {
		must = fmt.Sprintf("array of %v", want)
	}
	switch {
	case !ok:
		r.fail(fault.Invalid, "%s is missing", key)
	case kind != want || array != (n >= 0):
		r.fail(fault.Invalid, "%s is of kind %s and must be %s", key, is, must)
	}
	return r.err == nil
}

func (r *headReader) count(key string, from, to uint64) int {
	if !r.want(key, gguf.KindUint32, false) {
		return 0
	}
	n, _ := r.Uint(key)
	if n < from || n > to {
		r.fail(fault.Invalid, "%s is %d and must be between %d and %d", key, n, from, to)
	}
	return int(n)
}

func (r *headReader) text(key string) string {
	if !r.want(key, gguf.KindString, false) {
		return ""
	}
	s, _ := r.Str(key)
	if s == "" || !utf8.ValidString(s) {
		r.fail(fault.Invalid, "%s is %q, not a name", key, s)
	}
	return s
}

// similarity is optional.
func (r *headReader) similarity(key string) *float32 {
	if !r.Has(key) || !r.want(key, gguf.KindFloat32, false) {
		return nil
	}
	x, _ := r.Float(key)
	if !(x >= -1 && x <= 1) {
		r.fail(fault.Invalid, "%s is %v and must be between -1 and 1", key, x)
	}
	value := float32(x)
	return &value
}

func (r *headReader) tokens() []string {
	if !r.want(keyTokens, gguf.KindString, true) {
		return nil
	}
	list, _ := r.Strs(keyTokens)
	if len(list) == 0 {
		r.fail(fault.Invalid, "%s is empty: the table has no words", keyTokens)
	}
	seen := make(map[string]int, len(list))
	for i, t := range list {
		other, twice := seen[t]
		seen[t] = i
		switch {
		case t == "":
			r.fail(fault.Invalid, "token %d is empty", i)
		case len(t) > maxToken:
			r.fail(fault.Invalid, "token %d is %d bytes long, and may be %d", i, len(t), maxToken)
		case !utf8.ValidString(t):
			r.fail(fault.Invalid, "token %d is %q, which is not UTF-8", i, t)
		case twice:
			r.fail(fault.Invalid, "tokens %d and %d are both %q", other, i, t)
		}
		if r.err != nil {
			return nil
		}
	}
	return list
}

// rows finds the only tensor and checks it against the rest.
func (r *headReader) rows(h *head) gguf.Tensor {
	t, ok := r.Tensor(tensorRows)
	if r.err != nil {
		return t
	}
	if !ok {
		r.fail(fault.Invalid, "tensor %q is missing", tensorRows)
		return t
	}
	for _, other := range r.Tensors() {
		if other.Name != tensorRows {
			r.fail(fault.Invalid, "tensor %q is not part of a table of word vectors", other.Name)
		}
	}
	switch t.Type {
	case gguf.F32, gguf.F16, gguf.Q8_0:
	default:
		r.fail(fault.Unsupported, "tensor %q is %v; f32, f16 and q8_0 are read here", t.Name, t.Type)
	}
	if len(t.Dims) != 2 || t.Dims[0] != uint64(h.dim) || t.Dims[1] != uint64(len(h.tokens)+h.hashed) {
		dims := strings.ReplaceAll(strings.Trim(fmt.Sprint(t.Dims), "[]"), " ", " x ")
		r.fail(fault.Invalid, "tensor %q is %s and must be %d x %d, for %d tokens and %d hashed rows",
			t.Name, dims, h.dim, len(h.tokens)+h.hashed, len(h.tokens), h.hashed)
	}
	return t
}
