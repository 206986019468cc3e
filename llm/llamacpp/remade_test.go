package llamacpp

import (
	"context"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached/llm/gguf"
)

// remade writes a random model once more with other metadata: set replaces and
// adds keys, and takes those away whose value is nil. A new architecture takes
// the old one's keys over. tensors, when not nil, adds the tensors instead of
// the file's own.
func remade(t *testing.T, o gguf.RandomOptions, set map[string]any, tensors func(*gguf.Builder)) string {
	t.Helper()
	source := randomModel(t, o)
	f, err := gguf.Open(source)
	if err != nil {
		t.Fatal(err)
	}
	arch, _ := set["general.architecture"].(string)
	if arch == "" {
		arch = f.Architecture()
	}
	b := &gguf.Builder{}
	left := maps.Clone(set)
	for _, key := range f.Keys() {
		name := key
		if rest, ok := strings.CutPrefix(key, f.Architecture()+"."); ok {
			name = arch + "." + rest
		}
		v, ok := left[name]
		if !ok {
			v = metadata(t, f, key)
		}
		delete(left, name)
		if v != nil {
			b.Set(name, v)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		if left[name] != nil {
			b.Set(name, left[name])
		}
	}
	if tensors == nil {
		file, err := os.Open(source)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		tensors = func(b *gguf.Builder) { copyTensors(b, f, file) }
	}
	tensors(b)
	path := filepath.Join(t.TempDir(), "remade.gguf")
	if err := b.WriteFile(path, nil); err != nil {
		t.Fatal(err)
	}
	return path
}

func copyTensors(b *gguf.Builder, f *gguf.File, file io.ReaderAt) {
	for _, x := range f.Tensors() {
		b.Tensor(x.Name, x.Type, x.Dims, func(p []byte, at int64) error {
			_, err := file.ReadAt(p, x.Offset+at)
			return err
		})
	}
}

// metadata is a value of the kinds that random models have.
func metadata(t *testing.T, f *gguf.File, key string) any {
	t.Helper()
	kind, n, _ := f.Kind(key)
	list := n >= 0
	switch {
	case kind == gguf.KindString && list:
		v, _ := f.Strs(key)
		return v
	case kind == gguf.KindInt32 && list:
		v, _ := f.Ints(key)
		return convert[int64, int32](v)
	case kind == gguf.KindFloat32 && list:
		v, _ := f.Floats(key)
		return convert[float64, float32](v)
	case list:
	case kind == gguf.KindString:
		v, _ := f.Str(key)
		return v
	case kind == gguf.KindUint32:
		v, _ := f.Uint(key)
		return uint32(v)
	case kind == gguf.KindFloat32:
		v, _ := f.Float(key)
		return float32(v)
	case kind == gguf.KindBool:
		v, _ := f.Bool(key)
		return v
	}
	t.Fatalf("%s is of kind %v, which this test cannot copy", key, kind)
	return nil
}

func convert[A, B int32 | int64 | float32 | float64](list []A) []B {
	out := make([]B, len(list))
	for i, v := range list {
		out[i] = B(v)
	}
	return out
}

// openFile opens an engine on a file.
func openFile(tb testing.TB, path string, change func(*Config)) (*Engine, error) {
	tb.Helper()
	c := Default()
	c.Model = path
	c.Context, c.Threads, c.Split = 512, 1, 32
	if change != nil {
		change(&c)
	}
	e, err := OpenEngine(context.Background(), c, NewGate())
	if err == nil {
		tb.Cleanup(func() { e.Close() })
	}
	return e, err
}

// openEmbedder opens an embedder on a file.
func openEmbedder(tb testing.TB, path string, change func(*Config)) (*Embedder, error) {
	tb.Helper()
	c := DefaultEmbedder()
	c.Model, c.Context, c.Threads = path, 128, 1
	if change != nil {
		change(&c)
	}
	e, err := OpenEmbedder(context.Background(), c, NewGate())
	if err == nil {
		tb.Cleanup(func() { e.Close() })
	}
	return e, err
}
