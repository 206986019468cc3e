package llamacpp

import (
	"slices"
	"strings"
	"testing"

	"github.com/percached/percached"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/llmtest"
)

// A text is cut where the model's own context ends, or earlier if somebody says so.
func TestEmbedderReadsItsContext(t *testing.T) {
	for _, tt := range []struct {
		trained, context, want int
	}{
		{512, DefaultEmbedder().Context, 512},
		{1024, DefaultEmbedder().Context, 1024},
		{4096, DefaultEmbedder().Context, 2048},
		{1024, 600, 600},
	} {
		path := randomModel(t, gguf.RandomOptions{Shape: "tiny", Architecture: "bert", Seed: 1, Context: tt.trained})
		e, err := openEmbedder(t, path, func(c *Config) { c.Context = tt.context })
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Info().MaxTokens; got != tt.want {
			t.Errorf("trained for %d, asked for %d: %d tokens are read", tt.trained, tt.context, got)
		}
		word, err := e.model.vocab.append(nil, percached.Text{Text: "a"})
		if err != nil || len(word) != 1 {
			t.Fatal(word, err)
		}
		n := tt.want - len(e.before) - len(e.after)
		full := strings.Repeat("a ", n-1)
		v, err := e.Embed(t.Context(), percached.Foreground, []string{full + "a", full + "b", full + "a b"})
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(v[0], v[1]) {
			t.Errorf("token %d is not read", tt.want)
		}
		if !slices.Equal(v[0], v[2]) {
			t.Errorf("what stands behind %d tokens is read", tt.want)
		}
	}
}

// Vectors that were stored stay good: what names them is what it was before texts
// had prefixes and could be longer.
func TestFingerprintOfAnEncoderStays(t *testing.T) {
	c := DefaultEmbedder()
	c.Model, c.Threads = llmtest.RealModel(t, llmtest.MiniLM), 1
	e, err := OpenEmbedder(t.Context(), c, NewGate())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if want := fingerprint(e.model.hash, engineVersion(0), "mean", 512); e.Info().Fingerprint != want {
		t.Errorf("%s, want %s", e.Info().Fingerprint, want)
	}
}

// The names are those that published files have.
func TestFamilies(t *testing.T) {
	const instruct = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
	const bge = "Represent this sentence for searching relevant passages: "
	for name, want := range map[string]encoderFamily{
		"nomic-embed-text-v1.5":                 {query: "search_query: ", document: "search_document: "},
		"nomic-embed-text-v2-moe.Q8_0.gguf":     {query: "search_query: ", document: "search_document: "},
		"nomic-embed-code":                      {},
		"E5 Small V2":                           {query: "query: ", document: "passage: "},
		"multilingual-e5-base":                  {query: "query: ", document: "passage: "},
		"multilingual-e5-large-instruct-q8_0":   {query: instruct + " "},
		"Bge Small En v1.5":                     {query: bge},
		"bge-large-zh-v1.5":                     {query: "为这个句子生成表示以用于检索相关文章："},
		"bge-m3":                                {},
		"Qwen3 Embedding 0.6B":                  {query: instruct},
		"Qwen3-Embedding-4B-Q4_K_M.gguf":        {query: instruct},
		"Qwen3 0.6B":                            {},
		"embeddinggemma-300M-Q8_0.gguf":         {query: "task: search result | query: ", document: "title: none | text: "},
		"EmbeddingGemma 300m":                   {query: "task: search result | query: ", document: "title: none | text: "},
		"snowflake-arctic-embed-m-long":         {query: bge},
		"snowflake-arctic-embed-l-v2.0-q8_0":    {query: "query: "},
		"all-MiniLM-L6-v2":                      {},
		"gte-Qwen2-1.5B-instruct":               {},
		"the5 best":                             {},
		"paraphrase-multilingual-MiniLM-L12-v2": {},
	} {
		got, _ := familyNamed(name)
		if got.query != want.query || got.document != want.document {
			t.Errorf("%s: %q and %q, want %q and %q", name, got.query, got.document, want.query, want.document)
		}
	}
}

// A family is known by the model's own name, else by its file's; what somebody
// configures takes its place. Vectors under other prefixes have another name.
func TestPrefixesOfAnEncoder(t *testing.T) {
	own := "Frage: "
	none := ""
	prints := map[string]string{}
	for _, tt := range []struct {
		name            string
		query, document *string
		want            [2]string
	}{
		{"somebody's model", nil, nil, [2]string{}},
		{"E5 Tiny", nil, nil, [2]string{"query: ", "passage: "}},
		{"E5 Tiny", &own, nil, [2]string{own, "passage: "}},
		{"E5 Tiny", nil, &none, [2]string{"query: ", ""}},
		{"E5 Tiny", &none, &none, [2]string{}},
	} {
		path := randomModel(t, gguf.RandomOptions{Shape: "tiny", Architecture: "bert", Seed: 1, Name: tt.name})
		e, err := openEmbedder(t, path, func(c *Config) { c.QueryPrefix, c.DocumentPrefix = tt.query, tt.document })
		if err != nil {
			t.Fatal(err)
		}
		i := e.Info()
		if got := [2]string{i.QueryPrefix, i.DocumentPrefix}; got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		key := tt.name + strings.Join(tt.want[:], "|")
		if before, there := prints[i.Fingerprint]; there {
			t.Errorf("%q has the fingerprint of %q", key, before)
		}
		prints[i.Fingerprint] = key
	}
}

// A file that does not say how its model pools gets what its family does.
func TestPoolingOfAFamily(t *testing.T) {
	for name, want := range map[string]string{"bge-small-en-v1.5": "cls", "e5-small-v2": "mean", "nomic-embed-text-v1.5": "mean", "unknown": "mean"} {
		o := gguf.RandomOptions{Shape: "tiny", Architecture: "bert", Seed: 1, Name: name}
		e, err := openEmbedder(t, remade(t, o, map[string]any{"bert.pooling_type": nil}, nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Info().Pooling; got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
