package node

import (
	"context"

	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/llm/openai"
)

// openRemoteEngine connects to the server that computes. It needs no supervisor: each request
// connects anew if it must.
func (n *Node) openRemoteEngine(ctx context.Context, c Options) error {
	s, err := ServerOf(c.Config)
	if err != nil {
		return err
	}
	s.Queue, s.Now = max(s.Queue, c.MaxWaiting), n.Now
	e, err := openai.Open(ctx, s)
	if err != nil {
		return err
	}
	n.Engine = e
	n.closers = append(n.closers, e.Close)
	return nil
}

// ServerOf is how the server of engine-url is reached.
func ServerOf(c config.Config) (s openai.Config, err error) {
	s = openai.Default()
	s.URL, s.Model, s.Context = c.EngineURL, c.Model, chosen(c.Context)
	s.Key, err = openai.ReadKey(c.EngineKeyFile)
	return s, err
}

// openRemoteEmbedder connects to the server that embeds.
func (n *Node) openRemoteEmbedder(ctx context.Context, c Options) (err error) {
	s := openai.EmbedderConfig{Config: openai.Default(), QueryPrefix: c.QueryPrefix, DocumentPrefix: c.DocPrefix}
	s.URL, s.Model, s.Now = c.EmbedURL, c.EmbedModel, n.Now
	if c.EngineURL == "" || openai.SameOrigin(c.EngineURL, c.EmbedURL) { // a key is for one server
		if s.Key, err = openai.ReadKey(c.EngineKeyFile); err != nil {
			return err
		}
	}
	e, err := openai.OpenEmbedder(ctx, s)
	if err != nil {
		return err
	}
	n.Embedder = e
	n.closers = append(n.closers, e.Close)
	return nil
}

// checkServers notices that a server has another model, also while stored answers alone are
// served.
func (n *Node) checkServers(ctx context.Context) {
	for _, part := range []any{n.Engine, n.Embedder} {
		if server, ok := part.(interface{ Check(context.Context) error }); ok {
			if err := server.Check(ctx); err != nil && ctx.Err() == nil {
				n.Log.Warn("the model of a server has changed", "error", err)
			}
		}
	}
}
