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

// askTimeout is how long a server may take to say one thing of itself.
const askTimeout = 10 * time.Second

// reserve are tokens of the context for the server's chat template.
const reserve = 64

// server is what a server says of itself.
type server struct {
	kind       string
	model      string
	context    int
	parameters uint64
	bytes      uint64       // of the weights
	train      int          // positions the model was trained for
	digest     string       // of the model; empty: the server does not say it
	identity   []string     // what tells the model from others, beside its name
	marks      []reply.Mark // of thoughts
}

// listed is one model of GET /v1/models, with what servers add.
type listed struct {
	ID     string `json:"id"`
	Owner  string `json:"owned_by"`
	Length int    `json:"max_model_len"` // vLLM, SGLang
	Root   string `json:"root"`          // the weights behind the name: vLLM, SGLang
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
// model. model may be empty if the server has one.
func (c *client) ask(ctx context.Context, model string) (server, error) {
	c.checked.Store(c.dials.Load())
	s := server{kind: other, model: model, marks: reply.MarksOf("<think>", nil)}
	var list struct {
		Data []listed `json:"data"`
	}
	if f := c.once(ctx, request{method: "GET", path: "/v1/models", read: readJSON(&list)}, nil); f.err != nil {
		return s, f.err
	}
	var p props
	found, err := c.quick(ctx, "/props", &p)
	if err != nil {
		return s, err
	}
	if found && p.Settings != nil {
		s.kind, s.context, s.marks = llamaServer, p.Settings.Context, reply.MarksOf(p.Template, nil)
		sum := sha256.Sum256([]byte(p.Template))
		s.identity = append(s.identity, filepath.Base(p.Path), hex.EncodeToString(sum[:]))
	}
	at := slices.IndexFunc(list.Data, func(l listed) bool { return l.ID == model || l.ID == model+":latest" })
	switch {
	case s.model == "" && len(list.Data) == 1, at < 0 && s.kind == llamaServer && len(list.Data) > 0: // it has one, by whatever name
		at = 0
	case s.model == "":
		return s, fault.New(fault.Invalid, op, "set model to one that %s has: %s", c.host(), names(list.Data))
	case at < 0 && len(list.Data) > 0:
		return s, fault.New(fault.NotFound, op, "%s has no model %q; set model to one that it has: %s", c.host(), model, names(list.Data))
	}
	if at >= 0 {
		s.take(list.Data[at])
	}
	if s.kind == other {
		err = c.askOther(ctx, &s)
	}
	if s.kind != llamaServer && s.digest == "" { // its name says little of what the model is
		s.identity = append(s.identity, c.base())
	}
	return s, err
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
	if l.Root != "" {
		s.identity = append(s.identity, l.Root)
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
func (c *client) askOther(ctx context.Context, s *server) error {
	var version struct {
		Version string `json:"version"`
	}
	var info struct {
		Model string `json:"model_id"`
		Total int    `json:"max_total_tokens"`
	}
	found, err := c.quick(ctx, "/api/version", &version)
	if err != nil {
		return err
	}
	if found && version.Version != "" {
		s.kind = ollama
		return c.askDigest(ctx, s)
	}
	if found, err = c.quick(ctx, "/info", &info); found && info.Model != "" {
		s.kind, s.context = tgi, info.Total
		s.identity = append(s.identity, info.Model)
	}
	return err
}

// askDigest asks Ollama for the digest of the model: a name can get other weights.
func (c *client) askDigest(ctx context.Context, s *server) error {
	var tags struct {
		Models []struct {
			Name   string `json:"name"`
			Digest string `json:"digest"`
		} `json:"models"`
	}
	_, err := c.quick(ctx, "/api/tags", &tags)
	for _, m := range tags.Models {
		if (m.Name == s.model || m.Name == s.model+":latest") && m.Digest != "" {
			s.digest = m.Digest
			s.identity = append(s.identity, m.Digest)
		}
	}
	return err
}

// quick reads a path that the server may not have. It fails if the server cannot say now.
func (c *client) quick(ctx context.Context, path string, into any) (found bool, err error) {
	inner, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	f := c.once(inner, request{method: "GET", path: path, read: readJSON(into)}, nil)
	switch {
	case f.err == nil:
		return true, nil
	case ctx.Err() != nil, f.busy, f.lost:
		return false, f.err
	case inner.Err() != nil:
		return false, fault.New(fault.Unavailable, op, "%s did not answer GET %s within %v", c.host(), path, askTimeout)
	}
	return false, nil
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
