package main

import (
	"context"
	"os"
	"runtime"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/llm/jinja"
)

// renders says that this process was started to render chat templates, and for nothing
// else.
func renders(args []string) bool { return len(args) == 2 && args[1] == jinja.Argument }

// renderTemplate renders a model's chat template, which is not to be trusted, in a process
// of this program.
func renderTemplate(ctx context.Context, template string, inputs []map[string]any) ([]string, error) {
	exe := "/proc/self/exe" // also where the file was replaced
	if runtime.GOOS != "linux" {
		var err error
		if exe, err = os.Executable(); err != nil {
			return nil, fault.New(fault.Unavailable, "percached: render", "%w", err)
		}
	}
	return jinja.Renderer{Program: exe, Name: "percached"}.Render(ctx, template, inputs)
}
