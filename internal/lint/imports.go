package lint

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

const module = "github.com/percached/percached"

// layer is a part of the repository and what it may import. A name means the folder itself;
// with "/..." also all folders below it.
type layer struct {
	folder string
	may    []string
}

// layers is the import plan; docs/architecture.md describes it. A folder in no layer is a
// finding, so that a new folder is placed deliberately.
func layers() []layer {
	nouns := []string{".", "internal/base/durable", "internal/base/encryption", "internal/base/fault"}
	stores := slices.Clip(append(nouns, "internal/base/kv", "internal/base/names", "internal/base/sealed"))
	shell := slices.Clip(append(stores, "internal/base/cmdline", "internal/base/home", "internal/base/machine", "internal/base/prompt", "internal/base/version", "internal/audit", "internal/budget", "internal/config", "internal/token"))
	engine := slices.Clip(append(nouns, "llm"))
	siblings := []string{"qabank/...", "knowledgebank/...", "retrieval/...", "qkvtree/...", "predictor/...", "scheduler/..."}
	cases := []string{"internal/answer/...", "internal/backup", "internal/calibrate", "internal/conversation", "internal/idle/...", "internal/inbox", "internal/ingest/...", "internal/memory/...", "internal/remotebackup"}
	node := slices.Clip(slices.Concat(shell, siblings, cases, []string{"internal/pull", "internal/supervise", "llm/...", "models"}))
	backend := slices.Concat(node, []string{"api", "internal/node", "internal/telemetry"})
	daemon := slices.Clip(append(backend, "internal/backend", "internal/issuer/...", "internal/quota", "internal/trace", "internal/link", "internal/base/kv/kvtest"))
	top := slices.Clip(slices.Concat(daemon, []string{"internal/node/...", "api/...", "internal/child", "internal/daemon", "internal/selftest/...", "models/..."}))
	return []layer{
		// The root and what knows nothing of percached's layers.
		{".", nil},
		{"internal/base/durable", nil},
		{"internal/base/fault", nil},
		{"internal/base/encryption", []string{"internal/base/fault", "internal/base/prompt"}},
		{"internal/base/prompt", []string{"internal/base/fault"}},
		{"internal/base/machine", nil},
		{"internal/base/names", nil},
		{"internal/base/version", nil},
		{"internal/base/cmdline", nouns},
		{"internal/base/home", nouns},
		{"internal/base/kv/...", nouns},
		{"internal/base/sealed", nouns},
		{"internal/lint", nil},
		{"internal/audit", nouns},
		{"internal/backup", nouns},
		{"internal/budget", nil},
		{"internal/pull", nouns},
		{"internal/remotebackup/...", nouns},
		{"internal/token", nouns},
		{"internal/issuer/...", append(nouns, "internal/issuer/issuertest", "internal/token")},
		{"internal/quota", append(nouns, "internal/token")},
		{"internal/config", append(nouns, "internal/base/cmdline", "internal/base/home")},
		// The engines.
		{"llm", nouns},
		{"llm/gguf/...", engine},
		{"llm/jinja", engine},
		{"llm/reply", engine},
		{"llm/openai/...", append(engine, "llm/grammar", "llm/openai", "llm/reply")},
		{"llm/grammar", engine},
		{"llm/llmtest/...", append(engine, "llm/grammar")},
		{"llm/llamacpp/...", append(engine, "internal/base/machine", "llm/gguf", "llm/grammar", "llm/reply")},
		{"llm/static/...", append(engine, "llm/gguf")},
		{"models/...", nouns},
		{"internal/supervise", engine},
		// The layers, which never import each other.
		{"qabank/...", stores},
		{"knowledgebank/...", stores},
		{"retrieval/...", stores},
		{"qkvtree/...", stores},
		{"predictor/...", stores},
		{"scheduler/...", stores},
		{"internal/conversation", stores},
		{"api/...", stores},
		// The use cases.
		{"internal/answer/...", append(stores, "internal/conversation", "qabank/...", "qkvtree", "retrieval")},
		{"internal/calibrate", stores},
		{"internal/ingest/...", append(stores, "knowledgebank", "qabank", "qkvtree", "retrieval")},
		{"internal/memory/...", append(stores, "internal/memory/fact", "knowledgebank")},
		{"internal/inbox", append(stores, "internal/ingest", "knowledgebank/...", "qabank", "qkvtree", "retrieval")},
		{"internal/idle/...", append(stores, "internal/answer/...", "internal/calibrate", "internal/conversation", "internal/ingest", "internal/memory", "knowledgebank", "predictor", "qabank", "qkvtree", "retrieval", "scheduler")},
		{"internal/trace", append(nouns, "api", "internal/answer")},
		{"internal/telemetry", append(nouns, "api", "internal/answer", "internal/inbox", "internal/ingest", "qabank", "qkvtree", "scheduler")},
		// What wires, serves and calls.
		{"internal/node/...", append(node, "internal/node")},
		{"internal/backend", backend},
		{"internal/link", append(shell, "api/client")},
		{"internal/follow/...", append(shell, "internal/follow", "knowledgebank", "knowledgebank/reader")},
		{"internal/child", shell},
		{"internal/selftest/...", slices.Concat(shell, engine, []string{"internal/link", "llm/gguf", "llm/jinja", "llm/llamacpp", "llm/llmtest", "models", "qkvtree", "scheduler"})},
		{"internal/daemon", daemon},
		{"internal/move", append(shell, "api/client", "internal/backup", "internal/link")},
		{"internal/demo/...", append(shell, "api/client", "internal/answer/grounded", "internal/child", "internal/link", "models/...")},
		{"internal/commands", slices.Concat(shell, []string{"api/client", "internal/daemon", "internal/node", "llm/jinja"})},
		{"eval/...", []string{"api/client"}},
		{"clients/go", []string{"api/client"}},
		{"cmd/percached-eval/...", append(top, "eval/...", "internal/commands", "internal/move")},
		{"cmd/percached/...", append(top, "internal/commands", "internal/demo/...", "internal/follow/...", "internal/move")},
	}
}

// inTests lists what tests of every layer may import in addition.
func inTests() []string {
	return []string{".", "internal/node/nodetest", "internal/remotebackup/s3test", "internal/base/fault", "internal/base/kv", "internal/base/sealed", "llm", "llm/llmtest", "llm/gguf", "llm/jinja", "llm/static", "models"}
}

// imports: packages import each other only as planned, and the root package imports the
// standard library only.
func imports(t *Tree, report Report) {
	for _, f := range t.Files {
		if f.Go == nil {
			continue
		}
		at := slices.IndexFunc(layers(), func(l layer) bool { return within(f.Folder(), l.folder) })
		if at < 0 {
			report(f.Path, 0, "folder %s is not in the import plan; add it to internal/lint/imports.go", f.Folder())
			continue
		}
		own := layers()[at]
		for _, spec := range f.Go.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			to, inside := strings.CutPrefix(name, module)
			if !inside || to != "" && to[0] != '/' {
				if own.folder == "." && !f.Test() && strings.Contains(name, ".") {
					report(f.Path, t.line(spec), "the root package may import the standard library only, not %s", name)
				}
				continue
			}
			to = path.Clean("./" + to)
			may := func(l string) bool { return within(to, l) }
			if may(own.folder) || slices.ContainsFunc(own.may, may) || f.Test() && slices.ContainsFunc(inTests(), may) {
				continue
			}
			report(f.Path, t.line(spec), "%s may not import %s", f.Folder(), to)
		}
	}
}

// within says whether a folder is the named one, or below it if the name ends in "/...".
func within(folder, name string) bool {
	if base, deep := strings.CutSuffix(name, "/..."); deep {
		return folder == base || strings.HasPrefix(folder, base+"/")
	}
	return folder == name
}

// doors names the only folder that may import each vendor.
func doors() map[string]string {
	return map[string]string{
		"github.com/go-chi/":               "api/...",
		"github.com/oapi-codegen/":         "api/client",
		"github.com/dgraph-io/":            "internal/base/kv/...",
		"github.com/blevesearch/":          "retrieval/...",
		"github.com/robfig/cron":           "scheduler/...",
		"github.com/prometheus/":           "internal/telemetry/...",
		"github.com/modelcontextprotocol/": "cmd/percached",
		"github.com/ollama/ollama":         "llm/llamacpp/...",
		"github.com/ardanlabs/":            "llm/jinja",
		"github.com/emersion/":             "internal/follow/account",
		"go.opentelemetry.io/":             "internal/trace",
		"github.com/coreos/":               "internal/issuer",
		"github.com/go-jose/":              "internal/issuer",
		"github.com/minio/":                "internal/remotebackup/...",

		"github.com/parquet-go/": "eval/enronqa",
		"gonum.org/":             "eval/figure",
		"golang.org/x/sys":       "internal/base/kv/...",
		"golang.org/x/crypto":    "internal/base/encryption",
		"golang.org/x/term":      "internal/base/prompt",
	}
}

// vendors: each vendor is imported by one folder.
func vendors(t *Tree, report Report) {
	for _, f := range t.Files {
		if f.Go == nil {
			continue
		}
		for _, spec := range f.Go.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			for vendor, door := range doors() {
				if strings.HasPrefix(name, vendor) && !within(f.Folder(), door) {
					report(f.Path, t.line(spec), "only %[2]s may import %[1]s", name, strings.TrimSuffix(door, "/..."))
				}
			}
		}
	}
}

// cgo: C and its source are in llm/llamacpp only.
func cgo(t *Tree, report Report) {
	for _, f := range t.Files {
		if within(f.Folder(), "llm/llamacpp/...") {
			continue
		}
		if native(f.Path) {
			report(f.Path, 0, "C and C++ source belongs in llm/llamacpp")
		}
		if f.Go == nil {
			continue
		}
		for _, spec := range f.Go.Imports {
			if spec.Path.Value == `"C"` {
				report(f.Path, t.line(spec), "cgo belongs in llm/llamacpp")
			}
		}
	}
}

// native says whether a file is source that cgo passes to a C compiler.
func native(p string) bool {
	switch path.Ext(p) {
	case ".c", ".cc", ".cpp", ".cxx", ".h", ".hh", ".hpp", ".inc", ".m", ".mm", ".S":
		return true
	}
	return false
}
