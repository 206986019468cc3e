package api

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

// housed is a backend with these spaces.
func housed(names ...string) Backend {
	return Backend{
		About: func(context.Context, Nothing) (About, error) {
			return About{Started: time.Unix(1_700_000_000, 5), Embedder: AboutEmbedder{Name: "nano-embed"}}, nil
		},
		Spaces: func(context.Context, Nothing) (all Spaces, err error) {
			for _, name := range names {
				all.Spaces = append(all.Spaces, Space{Name: name})
			}
			return all, nil
		},
		Space: func(_ context.Context, in InSpace) (Space, error) {
			if !slices.Contains(names, in.Space) {
				return Space{}, fault.New(fault.NotFound, "bank", "no such space")
			}
			return Space{Name: in.Space}, nil
		},
	}
}

func modelText(name string) string {
	return fmt.Sprintf(`{"id":%q,"object":"model","created":1700000000,"owned_by":"percached"}`, name)
}

func TestModels(t *testing.T) {
	tests := []struct {
		name   string
		spaces []string
		token  string
		want   []string
	}{
		{"all", []string{"mail", "notes"}, askToken, []string{"mail", "notes", "nano-embed"}},
		{"its own", []string{"mail", "notes"}, mailAskToken, []string{"mail", "nano-embed"}},
		{"its own, which is gone", []string{"notes"}, mailAskToken, []string{"nano-embed"}},
		{"none", nil, adminToken, []string{"nano-embed"}},
		{"a space named as the embedder", []string{"nano-embed"}, adminToken, []string{"nano-embed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := exchangeRaw(t, testServer(t, housed(tt.spaces...)), raw("GET /v1/models", "", "Authorization: Bearer "+tt.token))
			var items []string
			for _, name := range tt.want {
				items = append(items, modelText(name))
			}
			want := `{"object":"list","data":[` + strings.Join(items, ",") + "]}\n"
			if diff := cmp.Diff(want, a.text); diff != "" || a.StatusCode != 200 {
				t.Error(a.Status, diff)
			}
		})
	}
}

func TestModel(t *testing.T) {
	tests := []struct {
		name    string
		model   string
		token   string
		status  int
		problem string
	}{
		{"a space", "mail", askToken, 200, ""},
		{"its own", "mail", mailAskToken, 200, ""},
		{"the embedder", "nano-embed", askToken, 200, ""},
		{"the embedder, with a token of one space", "nano-embed", mailAskToken, 200, ""},
		{"no space", "nothing", askToken, 404, "model_not_found"},
		{"what no space can be", "GPT-4", askToken, 404, "model_not_found"},
		{"another's", "notes", mailAskToken, 403, "forbidden"},
		{"nobody's, with a token of one space", "nothing", mailAskToken, 403, "forbidden"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := exchangeRaw(t, testServer(t, housed("mail", "notes")), raw("GET /v1/models/"+tt.model, "", "Authorization: Bearer "+tt.token))
			if a.StatusCode != tt.status || a.name() != tt.problem {
				t.Errorf("%d %s", a.StatusCode, a.text)
			}
			if tt.status == 200 && a.text != modelText(tt.model)+"\n" {
				t.Error(a.text)
			}
		})
	}
}

// A token for one space gets the same response for another space, whether it exists or not.
func TestModelsTellNothing(t *testing.T) {
	srv := testServer(t, housed("mail", "notes"))
	say := func(what, body string) string {
		a := exchangeRaw(t, srv, raw(what, body, "Authorization: Bearer "+mailAskToken, "X-Request-Id: r"))
		return a.Status + a.text
	}
	if there, not := say("GET /v1/models/notes", ""), say("GET /v1/models/nothing", ""); there != not {
		t.Errorf("%s\n%s", there, not)
	}
	chat := `{"model":"%s","messages":[{"role":"user","content":"When?"}]}`
	if there, not := say(chatPath, fmt.Sprintf(chat, "notes")), say(chatPath, fmt.Sprintf(chat, "nothing")); there != not {
		t.Errorf("%s\n%s", there, not)
	}
}

// embedder returns the vector (length of the text, 0.1).
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

// A vector in base64 is the same, bit for bit.
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

// Vectors that do not match the texts are an internal error.
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
