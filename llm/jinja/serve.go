package jinja

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/ardanlabs/jinja"
)

// Serve renders what a Renderer sends, in the process that the Renderer started, and
// returns the exit status. It limits the whole process for good, so nothing else may run
// in it.
func Serve(in io.Reader, out io.Writer) int {
	debug.SetMaxStack(64 << 20)
	limit(maxTime, maxMemory)
	go watch(maxMemory)
	var req request
	if err := json.NewDecoder(in).Decode(&req); err != nil {
		return 1
	}
	rep := reply{Texts: make([]string, len(req.Inputs))}
	left := maxText
	for i, vars := range req.Inputs {
		text, err := render(req.Template, vars)
		if err != nil {
			continue
		}
		if left -= len(text); left < 0 {
			return 1
		}
		rep.Texts[i] = text
	}
	if json.NewEncoder(out).Encode(rep) != nil {
		return 1
	}
	return 0
}

// watch ends the process when it uses too much memory, if the system does not.
func watch(most uint64) {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for tick := time.NewTicker(2 * time.Millisecond); ; <-tick.C {
		if metrics.Read(heap); heap[0].Value.Uint64() > most {
			os.Exit(1)
		}
	}
}

// render renders in this process.
func render(template string, vars map[string]any) (text string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	t, err := jinja.Compile(template)
	if err != nil {
		return "", err
	}
	values := map[string]jinja.Value{"strftime_now": jinja.NewCallable("strftime_now", noClock)}
	for k, v := range vars {
		values[k] = jinja.FromGoValue(v)
	}
	return t.RenderValues(values)
}

// noClock is the result of a template's time functions. With the real time every day
// would have another prompt, and stored tensors would be useless.
func noClock([]jinja.Value, map[string]jinja.Value) (jinja.Value, error) {
	return jinja.NewString("unknown"), nil
}
