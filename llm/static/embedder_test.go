package static

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	for _, typ := range []gguf.Type{gguf.Q8_0, gguf.F16, gguf.F32} {
		for _, hashed := range []int{40, 1, 0} {
			t.Run(fmt.Sprintf("%v-%d", typ, hashed), func(t *testing.T) {
				r := small()
				r.typ, r.hashed = typ, hashed
				data := r.encode(t)
				llmtest.RunEmbedder(t, llmtest.Embedders{
					Open: func() (llm.Embedder, error) { return Parse(context.Background(), "small", data) },
				})
			})
		}
	}
}

func embed(t testing.TB, e *Embedder, texts ...string) [][]float32 {
	t.Helper()
	out, err := e.Embed(context.Background(), percached.Foreground, texts)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func dot(a, b []float32) float64 {
	sum := 0.0
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

// What has no rows, or rows that cancel each other out, has the fixed vector.
func TestNothingToSay(t *testing.T) {
	r := small()
	r.hashed = 0
	r.tokens = []string{"▁a"}
	r.bytes = func(b []byte) { clear(b) }
	for _, v := range embed(t, r.open(t), "", " \n", "unknown", "a", "a a a") {
		if v[0] != 1 || dot(v, v) != 1 {
			t.Errorf("got %v", v)
		}
	}
}

// The most that a table may hold does not overflow.
func TestLargestValues(t *testing.T) {
	r := small()
	r.typ, r.context = gguf.F32, maxContext
	r.bytes = func(b []byte) {
		for i := range len(b) / 4 {
			copy(b[4*i:], "\x00\x00\x80\x4b") // 2^24
		}
	}
	v := embed(t, r.open(t), strings.Repeat("the ", maxContext))[0]
	if d := dot(v, v); !(d > 0.999 && d < 1.001) {
		t.Errorf("length %v", d)
	}
}

// Blocks of 8 bits say nearly what floats say.
func TestTypesAgree(t *testing.T) {
	texts := []string{"The train leaves at nine.", "Anna lost her red umbrella", "x4471", "Zürich", "vormittag"}
	exact := small()
	exact.typ = gguf.F32
	want := embed(t, exact.open(t), texts...)
	for typ, least := range map[gguf.Type]float64{gguf.F16: 0.999999, gguf.Q8_0: 0.9998} {
		r := small()
		r.typ = typ
		for i, v := range embed(t, r.open(t), texts...) {
			if d := dot(v, want[i]); d < least {
				t.Errorf("%v: %q is %v like its vector in f32", typ, texts[i], d)
			}
		}
	}
}

func TestInfo(t *testing.T) {
	e := small().open(t)
	got := e.Info()
	got.Fingerprint = ""
	if want := (percached.EmbedderInfo{Name: "small", Architecture: "static", Dimensions: 64, MaxTokens: 32, Pooling: "mean"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if x, ok := e.Threshold(); x != 0.75 || !ok {
		t.Errorf("threshold %v, %v", x, ok)
	}
	r := small()
	r.set = map[string]any{keyThreshold: nil, keyVersion: nil}
	if x, ok := r.open(t).Threshold(); ok {
		t.Errorf("threshold %v where none is named", x)
	}
}

// Tables that differ in anything have two fingerprints.
func TestFingerprint(t *testing.T) {
	seen := map[string]string{}
	for name, change := range map[string]func(r *recipe){
		"itself":   func(r *recipe) {},
		"a row":    func(r *recipe) { r.bytes = func(b []byte) { b[len(b)-1] ^= 1 } },
		"a token":  func(r *recipe) { r.tokens[0] = "▁der" },
		"a length": func(r *recipe) { r.context++ },
	} {
		r := small()
		change(&r)
		print := r.open(t).Info().Fingerprint
		if other, twice := seen[print]; twice || len(print) != 64 {
			t.Errorf("%s and %s have the fingerprint %q", name, other, print)
		}
		seen[print] = name
	}
}

// A file is opened as its bytes are, and not needed any more.
func TestOpen(t *testing.T) {
	data := small().encode(t)
	path := filepath.Join(t.TempDir(), "small.gguf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	e, err := Open(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	other := small().open(t)
	const text = "When does the train leave?"
	if e.Info() != other.Info() || !slices.Equal(embed(t, e, text)[0], embed(t, other, text)[0]) {
		t.Errorf("%+v from a file, %+v from memory", e.Info(), other.Info())
	}
}

func TestCancelled(t *testing.T) {
	reason := errors.New("the user left")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(reason)
	data := small().encode(t)
	path := filepath.Join(t.TempDir(), "small.gguf")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	_, embedErr := small().open(t).Embed(ctx, percached.Foreground, nil)
	_, openErr := Open(ctx, path)
	_, parseErr := Parse(ctx, "small", data)
	for _, err := range []error{embedErr, openErr, parseErr} {
		if !errors.Is(err, reason) || fault.KindOf(err) != fault.Timeout {
			t.Errorf("got %v: %v", fault.KindOf(err), err)
		}
	}
}

// Many at once get what each gets alone.
func TestConcurrent(t *testing.T) {
	e := small().open(t)
	texts := []string{"the train", "Zürich, 3. März", "", strings.Repeat("another word ", 40)}
	want := embed(t, e, texts...)
	var wg sync.WaitGroup
	for p := range 8 {
		wg.Go(func() {
			for range 50 {
				got, err := e.Embed(context.Background(), percached.Priority(p%2), texts)
				if err != nil {
					t.Error(err)
					return
				}
				for i := range got {
					if !slices.Equal(got[i], want[i]) {
						t.Errorf("%q has another vector among others", texts[i])
					}
				}
			}
		})
	}
	wg.Wait()
}

// The rows are read where they lie: a table in the binary takes no memory twice.
func TestParseDoesNotCopyRows(t *testing.T) {
	data := small().encode(t)
	e, err := Parse(context.Background(), "small", data)
	if err != nil {
		t.Fatal(err)
	}
	if at := bytes.Index(data, e.rows.data); at < 0 || &data[at] != &e.rows.data[0] {
		t.Error("the rows are a copy")
	}
}
