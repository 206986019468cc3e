package node

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/pull"
	"github.com/percached/percached/internal/supervise"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/jinja"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/llm/static"
	"github.com/percached/percached/models"
)

// openEmbedder opens the configured embedding model: a table of word vectors or a network.
func (n *Node) openEmbedder(ctx context.Context, c Options) (err error) {
	if c.EmbedURL != "" {
		return n.openRemoteEmbedder(ctx, c)
	}
	if c.EmbedModel, err = ModelFile(n.Home.Path("models"), c.EmbedModel); err != nil {
		return err
	}
	arch, err := Architecture(c.EmbedModel)
	switch {
	case err != nil:
	case c.EmbedModel == "":
		n.Embedder, err = static.Parse(ctx, "nano-embed", models.NanoEmbed())
	case arch == "static":
		n.Embedder, err = static.Open(ctx, c.EmbedModel)
	default:
		l := llamacpp.DefaultEmbedder()
		l.Model, l.Threads, l.Context, l.GPULayers = c.EmbedModel, c.Threads, c.EmbedContext, c.GPULayers
		l.QueryPrefix, l.DocumentPrefix = c.QueryPrefix, c.DocPrefix
		n.Embedder, err = llamacpp.OpenEmbedder(ctx, l, n.gate)
	}
	if err == nil {
		n.closers = append(n.closers, n.Embedder.Close)
	}
	return err
}

// Architecture is the architecture that a model file names; empty for the built-in model.
func Architecture(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	f, err := gguf.Open(path)
	if err != nil {
		return "", err
	}
	return f.Architecture(), nil
}

// openEngine opens the language model under a supervisor that reopens it when it fails.
func (n *Node) openEngine(ctx context.Context, c Options, log *slog.Logger, stderr io.Writer) (err error) {
	if c.EngineKind == config.OpenAI {
		return n.openRemoteEngine(ctx, c)
	}
	if c.Model, err = ModelFile(n.Home.Path("models"), c.Model); err != nil {
		return err
	}
	l := engineConfig(c.Config)
	l.Model, l.Queue, l.Render = c.Model, max(l.Queue, c.MaxWaiting), jinja.RenderInChild
	if n.BuiltInModel = c.Model == ""; n.BuiltInModel {
		if l.Model, err = models.Nano(n.Home.Path("models")); err != nil {
			return err
		}
		l.Render = nil // llama.cpp knows its template, so no process needs to render it
	} else {
		l.Progress = cmdline.Progress(stderr, "loaded "+c.Model)
	}
	if n.Progress != nil {
		n.Progress(0)
		l.Progress = n.Progress
	}
	if err := n.chooseContext(c.Config, &l); err != nil {
		return err
	}
	open := func(ctx context.Context) (llm.Engine, error) {
		l := l
		l.Context = n.contextLength()
		e, err := llamacpp.OpenEngine(ctx, l, n.gate)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	r, err := supervise.Open(ctx, supervise.Limit{Most: c.Restarts, Within: c.RestartPeriod}, n.Now, func(cause, err error) {
		if err != nil {
			log.Error("cannot reload the failed model", "cause", cause, "error", err)
			return
		}
		log.Warn("reloaded the failed model", "cause", cause)
		if n.Restarted != nil {
			n.Restarted()
		}
	}, open)
	if err != nil {
		return err
	}
	n.Engine = r
	n.closers = append(n.closers, r.Close)
	return nil
}

// ModelFile returns the file that --model or --embed-model names: a path, or the name of a
// model in the folder of pulled models.
func ModelFile(models, name string) (string, error) {
	if name == "" || strings.ContainsRune(name, os.PathSeparator) || strings.Contains(name, "/") {
		return name, nil
	}
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return name, nil
	}
	name = strings.TrimSuffix(name, ".gguf")
	path := filepath.Join(models, name+".gguf")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if _, listed := pull.Listed(name); listed {
		return "", fault.New(fault.NotFound, "percached: model", "the model %s is not downloaded; run percached pull %s", name, name)
	}
	return "", fault.New(fault.NotFound, "percached: model", "%s is neither a file nor a pulled model; percached pull --list shows the models", name)
}
