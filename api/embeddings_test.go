package api

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// embedder gives each text a vector of its length and 0.1.
func embedder(got *[]string) Backend {
	return Backend{
		About: func(context.Context, Nothing) (About, error) {
			return About{Embedder: AboutEmbedder{Name: "nano-embed", Dimensions: 2}}, nil
		},
		Embed: func(_ context.Context, texts []string) (Embedded, error) {
			*got = append(*got, texts...)
			e := Embedded{Model: "nano-embed"}
			for _, text := range texts {
				e.Vectors = append(e.Vectors, []float32{float32(len(text)), 0.1})
			}
			return e, nil
		},
	}
}

func TestEmbeddings(t *testing.T) {
	longest := strings.Repeat("a", maxInput)
	tests := []struct {
		name string
		body string
		want []string
	}{
		{"one text", `{"input":"ab","model":"text-embedding-3-small"}`, []string{"ab"}},
		{"many texts", `{"input":["ab","c"],"model":"m","encoding_format":"float","user":"ana"}`, []string{"ab", "c"}},
		{"null says nothing", `{"input":"ab","model":null,"encoding_format":null,"dimensions":null}`, []string{"ab"}},
		{"the dimensions there are", `{"input":"ab","dimensions":2}`, []string{"ab"}},
		{"the longest text", fmt.Sprintf(`{"input":%q}`, longest), []string{longest}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			a := exchangeRaw(t, testServer(t, embedder(&got)), raw("POST /v1/embeddings", tt.body, "Authorization: Bearer "+mailAskToken))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
			var data []string
			for i, text := range tt.want {
				data = append(data, fmt.Sprintf(`{"object":"embedding","index":%d,"embedding":[%d,0.1]}`, i, len(text)))
			}
			want := `{"object":"list","data":[` + strings.Join(data, ",") + `],"model":"nano-embed","usage":{"prompt_tokens":0,"total_tokens":0}}` + "\n"
			if diff := cmp.Diff(want, a.text); diff != "" || a.StatusCode != 200 {
				t.Error(a.Status, diff)
			}
		})
	}
}

// In base64 a vector is the same, to the bit.
func TestEmbeddingsBase64(t *testing.T) {
	var texts []string
	a := exchangeRaw(t, testServer(t, embedder(&texts)), raw("POST /v1/embeddings", `{"input":"abc","encoding_format":"base64"}`))
	var list struct{ Data []struct{ Embedding []byte } }
	if err := json.Unmarshal([]byte(a.text), &list); err != nil || len(list.Data) != 1 {
		t.Fatal(err, a.text)
	}
	var got []float32
	for b := list.Data[0].Embedding; len(b) >= 4; b = b[4:] {
		got = append(got, math.Float32frombits(binary.LittleEndian.Uint32(b)))
	}
	if diff := cmp.Diff([]float32{3, 0.1}, got); diff != "" {
		t.Error(diff)
	}
}

func TestEmbeddingsOtherDimensions(t *testing.T) {
	var texts []string
	a := exchangeRaw(t, testServer(t, embedder(&texts)), raw("POST /v1/embeddings", `{"input":"ab","dimensions":3}`))
	if diff := cmp.Diff(wrongAnswer{400, "unsupported_parameter", "/dimensions"}, a.wrong()); diff != "" || len(texts) > 0 {
		t.Error(diff, texts)
	}
}

// Vectors that do not belong to the texts, or are none, are nobody's answer.
func TestEmbeddingsBroken(t *testing.T) {
	nan := float32(math.NaN())
	for name, vectors := range map[string][][]float32{"too few": {{1}}, "not a number": {{1}, {nan}}, "endless": {{1}, {float32(math.Inf(1))}}} {
		t.Run(name, func(t *testing.T) {
			srv := testServer(t, Backend{Embed: func(context.Context, []string) (Embedded, error) { return Embedded{Model: "m", Vectors: vectors}, nil }})
			if a := exchangeRaw(t, srv, raw("POST /v1/embeddings", `{"input":["a","b"]}`)); a.StatusCode != 500 || a.name() != "internal" {
				t.Error(a.StatusCode, a.text)
			}
		})
	}
}
