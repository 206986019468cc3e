package jinja

import (
	"context"
	"os"
	"runtime"

	"github.com/percached/percached/internal/base/fault"
)

// IsChild reports whether this process was started to render templates and must call
// Serve.
func IsChild(args []string) bool { return len(args) == 2 && args[1] == Argument }

// RenderInChild renders a model's chat template in a child process of this program,
// because the template is untrusted.
func RenderInChild(ctx context.Context, template string, inputs []map[string]any) ([]string, error) {
	exe := "/proc/self/exe" // also works after the file was replaced
	if runtime.GOOS != "linux" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return nil, fault.New(fault.Unavailable, "jinja.RenderInChild", "%w", err)
		}
	}
	return Renderer{Program: exe, Name: "percached"}.Render(ctx, template, inputs)
}
