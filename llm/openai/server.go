package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/reply"
)

// The kinds of servers that percached knows more of than OpenAI's interface.
const (
	llamaServer = "llama-server"
	vllm        = "vLLM"
	sglang      = "SGLang"
	ollama      = "Ollama"
	tgi         = "TGI"
	other       = "OpenAI-compatible"
)

// usualContext is the context of a server that does not say its own: the shortest that servers
// have by default.
const usualContext = 4096

// reserve are tokens of the context for the server's chat template.
const reserve = 64

// server is what a server says of itself.
type server struct {
	kind       string
	model      string
	context    int
	parameters uint64
	bytes      uint64 // of the weights
	train      int    // positions the model was trained for
	identity   []string
	marks      []reply.Mark // of thoughts
}

// listed is one model of GET /v1/models, with what servers add.
type listed struct {
	ID     string `json:"id"`
	Owner  string `json:"owned_by"`
	Length int    `json:"max_model_len"` // vLLM, SGLang
	Meta   *struct {
		Parameters uint64 `json:"n_params"`
		Bytes      uint64 `json:"size"`
		Train      int    `json:"n_ctx_train"`
		Vocabulary int    `json:"n_vocab"`
	} `json:"meta"` // llama-server
}

// props is what llama-server says at GET /props.
type props struct {
	Settings *struct {
		Context int `json:"n_ctx"`
	} `json:"default_generation_settings"`
	Template string `json:"chat_template"`
	Path     string `json:"model_path"`
}

// ask asks a server what it is. It fails only if the server does not answer, or has no such
// model.
func (c *client) ask(ctx context.Context) (server, error) {
	s := server{kind: other, model: c.Model, marks: reply.MarksOf("<think>", nil)}
	var list struct {
		Data []listed `json:"data"`
	}
	if err := c.get(ctx, "/v1/models", &list); err != nil {
		return s, err
	}
	var p props
	if c.quick(ctx, "/props", &p) && p.Settings != nil {
		s.kind, s.context, s.marks = llamaServer, p.Settings.Context, reply.MarksOf(p.Template, nil)
		sum := sha256.Sum256([]byte(p.Template))
		s.identity = append(s.identity, filepath.Base(p.Path), hex.EncodeToString(sum[:]))
	}
	at := slices.IndexFunc(list.Data, func(l listed) bool { return l.ID == c.Model || l.ID == c.Model+":latest" })
	switch {
	case s.model == "" && len(list.Data) == 1, at < 0 && s.kind == llamaServer && len(list.Data) > 0: // it has one, by whatever name
		at = 0
	case s.model == "":
		return s, fault.New(fault.Invalid, op, "set model to one that %s has: %s", c.host(), names(list.Data))
	case at < 0 && len(list.Data) > 0:
		return s, fault.New(fault.NotFound, op, "%s has no model %q; set model to one that it has: %s", c.host(), c.Model, names(list.Data))
	}
	if at >= 0 {
		s.take(list.Data[at])
	}
	if s.kind == other {
		c.askOther(ctx, &s)
	}
	return s, nil
}

// take takes what a server says of the model.
func (s *server) take(l listed) {
	if s.model == "" {
		s.model = l.ID
	}
	switch l.Owner {
	case "vllm":
		s.kind = vllm
	case "sglang":
		s.kind = sglang
	}
	if l.Length > 0 {
		s.context = l.Length
	}
	if m := l.Meta; m != nil {
		s.parameters, s.bytes, s.train = m.Parameters, m.Bytes, m.Train
		size, _ := json.Marshal(m)
		s.identity = append(s.identity, string(size))
	}
}

// askOther recognises servers by paths of their own.
func (c *client) askOther(ctx context.Context, s *server) {
	var version struct {
		Version string `json:"version"`
	}
	var info struct {
		Model string `json:"model_id"`
		Total int    `json:"max_total_tokens"`
	}
	switch {
	case c.quick(ctx, "/api/version", &version) && version.Version != "":
		s.kind = ollama
	case c.quick(ctx, "/info", &info) && info.Model != "":
		s.kind, s.context = tgi, info.Total
		s.identity = append(s.identity, info.Model)
	}
}

// quick reads a path that the server may not have.
func (c *client) quick(ctx context.Context, path string, into any) bool {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	f := c.once(ctx, request{method: "GET", path: path, read: readJSON(into)}, nil)
	return f.err == nil
}

// names are the first models of a server.
func names(list []listed) string {
	var all []string
	for _, l := range list[:min(len(list), 8)] {
		all = append(all, l.ID)
	}
	return strings.Join(all, ", ")
}

// name is the model's name for people: a llama-server may name it by its path.
func (s *server) name() string {
	if s.kind == llamaServer {
		return strings.TrimSuffix(filepath.Base(s.model), ".gguf")
	}
	return s.model
}

// info describes the model.
func (s *server) info(set int) percached.ModelInfo {
	context := s.context
	if context == 0 {
		context = usualContext
	}
	if set > 0 {
		context = set
	}
	sum := sha256.New()
	for _, v := range slices.Concat([]string{"openai", s.name()}, s.identity) {
		sum.Write(append([]byte(v), 0))
	}
	info := percached.ModelInfo{
		Name: s.name(), Architecture: "server", Parameters: s.parameters, WeightBytes: s.bytes, Vocabulary: vocabulary, TrainContext: s.train,
		Context: max(context-reserve, 1), Split: 512, Fingerprint: hex.EncodeToString(sum.Sum(nil)), Chat: format, Server: s.kind,
		NoSlices:   "tensors stay on the server",
		NoParallel: "the server computes a prompt as one sequence",
		NoDrafts:   "the server checks no drafts",
		NoTokens:   noTokens,
		NoLogits:   "the server returns no scores of all tokens",
	}
	if s.kind != llamaServer {
		info.NoGrammar = "of the servers, llama-server alone holds answers to a grammar"
	}
	return info
}
