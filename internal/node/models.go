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
	"github.com/percached/percached/internal/pull"
	"github.com/percached/percached/internal/supervise"
	"github.com/percached/percached/llm"
	"github.com/percached/percached/llm/gguf"
	"github.com/percached/percached/llm/jinja"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/llm/static"
	"github.com/percached/percached/models"
)

// openEmbedder opens the model that the configuration names; a table of word
// vectors or a network.
func (s *Node) openEmbedder(ctx context.Context, c Options) (err error) {
	if c.EmbedModel, err = ModelFile(s.Home.Path("models"), c.EmbedModel); err != nil {
		return err
	}
	arch, err := Architecture(c.EmbedModel)
	switch {
	case err != nil:
	case c.EmbedModel == "":
		s.Embedder, err = static.Parse(ctx, "nano-embed", models.NanoEmbed())
	case arch == "static":
		s.Embedder, err = static.Open(ctx, c.EmbedModel)
	default:
		l := llamacpp.DefaultEmbedder()
		l.Model, l.Threads, l.Context, l.GPULayers = c.EmbedModel, c.Threads, c.EmbedContext, c.GPULayers
		l.QueryPrefix, l.DocumentPrefix = c.QueryPrefix, c.DocPrefix
		s.Embedder, err = llamacpp.OpenEmbedder(ctx, l, s.gate)
	}
	if err == nil {
		s.closers = append(s.closers, s.Embedder.Close)
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

// openEngine opens the language model, and anew when it fails inside.
func (s *Node) openEngine(ctx context.Context, c Options, log *slog.Logger, stderr io.Writer) (err error) {
	if c.Model, err = ModelFile(s.Home.Path("models"), c.Model); err != nil {
		return err
	}
	l := llamacpp.Default()
	l.Model, l.KeyType, l.ValueType, l.Threads, l.Context = c.Model, c.KV, c.KV, c.Threads, c.Context
	l.Queue, l.Render = max(l.Queue, c.MaxWaiting), jinja.RenderInChild
	l.GPULayers = c.GPULayers
	if s.BuiltInModel = c.Model == ""; s.BuiltInModel {
		if l.Model, err = models.Nano(s.Home.Path("models")); err != nil {
			return err
		}
	} else {
		l.Progress = cmdline.Progress(stderr, "loaded "+c.Model)
	}
	if s.Progress != nil {
		s.Progress(0)
		l.Progress = s.Progress
	}
	open := func(ctx context.Context) (llm.Engine, error) {
		e, err := llamacpp.OpenEngine(ctx, l, s.gate)
		if err != nil {
			return nil, err
		}
		return e, nil
	}
	r, err := supervise.Open(ctx, supervise.Limit{Most: c.Restarts, Within: c.RestartPeriod}, s.Now, func(cause, err error) {
		if err != nil {
			log.Error("the model failed, and it could not be loaded again", "cause", cause, "error", err)
			return
		}
		log.Warn("the model failed and was loaded again", "cause", cause)
		if s.Restarted != nil {
			s.Restarted()
		}
	}, open)
	if err != nil {
		return err
	}
	s.Engine = r
	s.closers = append(s.closers, r.Close)
	return nil
}

// ModelFile finds the file that --model or --embed-model names: itself, or the one
// that was pulled under that name into the folder of models.
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
		return "", fault.New(fault.NotFound, "percached: model", "the model %s is not here yet: percached pull %s fetches it", name, name)
	}
	return "", fault.New(fault.NotFound, "percached: model", "there is neither a file %s nor a pulled model of that name: percached pull --list shows what there is", name)
}
