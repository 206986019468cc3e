package jinja

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// The limits. The largest template that comes with llama.cpp has 17 kB and renders in
// less than a millisecond.
const (
	maxTemplate = 256 << 10
	maxText     = 64 << 10 // of all inputs together
	maxWait     = 10 * time.Second
	maxTime     = 2         // seconds of a processor
	maxMemory   = 256 << 20 // of the process, in addition to the program
)

const op = "jinja: render"

// Argument is the single argument with which a program is started for rendering. It must
// then only call Serve.
const Argument = "render-chat-template"

// rendering is set in the process that renders. A program that does not call Serve would
// otherwise start itself without end.
const rendering = "PERCACHED_RENDERS"

// A Renderer renders in a separate process.
type Renderer struct {
	Program string // it calls Serve on Argument
	Name    string // argument 0 of the program
}

type request struct {
	Template string           `json:"template"`
	Inputs   []map[string]any `json:"inputs"`
}

type reply struct {
	Texts []string `json:"texts"`
}

// Render returns the template's output for each input, which must be valid for JSON. An
// input that the template refuses gives "".
func (r Renderer) Render(ctx context.Context, template string, inputs []map[string]any) ([]string, error) {
	if len(template) > maxTemplate {
		return nil, fault.New(fault.Unsupported, op, "the chat template has %d bytes, more than %d", len(template), maxTemplate)
	}
	if os.Getenv(rendering) != "" {
		return nil, fault.New(fault.Internal, op, "%s does not call Serve", r.Program)
	}
	in, err := json.Marshal(request{template, inputs})
	if err != nil {
		return nil, fault.New(fault.Invalid, op, "%w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	out := &bounded{left: 6*maxText + 1<<10} // JSON may need six bytes for one
	cmd := exec.CommandContext(ctx, r.Program, Argument)
	cmd.Args[0] = r.Name
	cmd.Env, cmd.Dir = []string{rendering + "=1"}, "/"
	if path := os.Getenv("LD_LIBRARY_PATH"); path != "" { // it may locate an installed llama.cpp
		cmd.Env = append(cmd.Env, "LD_LIBRARY_PATH="+path)
	}
	cmd.Stdin, cmd.Stdout = bytes.NewReader(in), out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return nil, fault.New(fault.Unavailable, op, "the chat template was not rendered: %w", errors.Join(context.Cause(ctx), err))
	}
	var got reply
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || len(got.Texts) != len(inputs) {
		return nil, fault.New(fault.Internal, op, "the reply is not understood")
	}
	return got.Texts, nil
}

// bounded accepts a limited number of bytes.
type bounded struct {
	bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.left -= len(p); b.left < 0 {
		return 0, errors.New("the output is too large")
	}
	return b.Buffer.Write(p)
}
