package static

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/gguf"
)

// FuzzParse: whatever the bytes, opening ends without panic, and what opens
// gives vectors of length 1.
func FuzzParse(f *testing.F) {
	tiny := recipe{tokens: []string{"▁a", "b", "▁"}, dim: 32, hashed: 2, context: 4, typ: gguf.Q8_0}
	sound := tiny.encode(f)
	f.Add(sound)
	for _, typ := range []gguf.Type{gguf.F16, gguf.F32} {
		r := tiny
		r.typ, r.dim, r.hashed = typ, 2, 0
		f.Add(r.encode(f))
	}
	for _, key := range []string{keyDim, keyContext, keyHashed, keyThreshold, keyModel, keyTokens, "general.name"} {
		for _, v := range []any{nil, uint32(0), uint32(math.MaxUint32), float32(math.NaN()), "static", []string{"▁a"}} {
			r := tiny
			r.set = map[string]any{key: v}
			f.Add(r.encode(f))
		}
	}
	for at := 8; at < len(sound); at += 1 + len(sound)/12 {
		f.Add(sound[:at])
		huge := append([]byte(nil), sound...)
		binary.LittleEndian.PutUint64(huge[min(at, len(huge)-8):], 1<<62)
		f.Add(huge)
	}
	ctx := context.Background()
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := Parse(ctx, "fuzz", data)
		if err != nil {
			if k := fault.KindOf(err); k != fault.Invalid && k != fault.Unsupported {
				t.Errorf("%v: %v", k, err)
			}
			return
		}
		texts := []string{"", "a", "ab", "a b ab xyz", strings.Repeat("ab", 50), "\xff"}
		vectors, err := e.Embed(ctx, percached.Background, texts)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range vectors {
			if d := dot(v, v); len(v) != e.Info().Dimensions || !(math.Abs(d-1) < 1e-3) {
				t.Errorf("%q: %d dimensions, length %v", texts[i], len(v), d)
			}
		}
	})
}
