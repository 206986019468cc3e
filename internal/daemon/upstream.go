package daemon

import (
	"context"
	"net/http"

	"github.com/percached/percached/api"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/llm/openai"
)

// upstream is the server to which the interface passes requests on; nil if this process
// computes. The interface calls it only once the node is open.
func (d *daemon) upstream() *api.Upstream {
	if d.config.EngineKind != config.OpenAI {
		return nil
	}
	server := func() *openai.Engine {
		if n := d.opened.Load(); n != nil {
			e, _ := n.Engine.(*openai.Engine)
			return e
		}
		return nil
	}
	return &api.Upstream{
		Model: func() string {
			if e := server(); e != nil {
				return e.ModelName()
			}
			return ""
		},
		Has: func(ctx context.Context, model string) bool {
			e := server()
			return e != nil && e.Has(ctx, model)
		},
		Send: func(ctx context.Context, p api.Passed) (*http.Response, error) {
			e := server()
			if e == nil {
				return nil, fault.New(fault.Unavailable, "percached: pass", "there is no connection to the server")
			}
			return e.Pass(ctx, openai.Passed(p))
		},
	}
}
