package selftest

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/models"
)

// Health is all that doctor found out.
type Health struct {
	OK       bool                 `json:"ok"`
	Machine  machine.Machine      `json:"machine"`
	CPU      llamacpp.CPUReport   `json:"cpu"`
	Library  string               `json:"llama_cpp"`    // which llama.cpp computes, and on what
	Random   bool                 `json:"random_model"` // the model's weights mean nothing
	Model    *percached.ModelInfo `json:"model"`        // with the first K/V type that opened
	Types    []TypeTest           `json:"kv_types"`
	Config   advice               `json:"config"`
	Folder   folderState          `json:"data"`
	Warnings []string             `json:"warnings"`
	Failures []string             `json:"failures"`

	GPULayers int
}

// config is what can be used here.
type advice struct {
	KVTypes []string `json:"kv_types"`
	Threads int      `json:"threads"`
}

// kvTypes in the order of preference.
var kvTypes = []string{"f16", "q8_0", "q4_0"}

// Examine tests every type; its error is that of a test that could not be made.
func (h *Health) Examine(ctx context.Context, open Opener, s *Source, stderr io.Writer) error {
	if len(h.CPU.Missing) > 0 {
		return nil // C would die
	}
	h.Library = llamacpp.Library()
	path, err := s.File(ctx, stderr)
	if err != nil {
		return err
	}
	h.Random = s.Model == ""
	for _, typ := range kvTypes {
		c := llamacpp.Default()
		c.Model, c.KeyType, c.ValueType, c.Context, c.GPULayers = path, typ, typ, TestContext, h.GPULayers
		t := TypeTest{Type: typ}
		if err := h.test(ctx, open, c, &t, stderr); err != nil {
			if ctx.Err() != nil {
				return err
			}
			t.Reason = cmdline.Sentence(err)
			t.Unsupported = fault.KindOf(err) == fault.Unsupported
		}
		h.Types = append(h.Types, t)
	}
	return nil
}

func (h *Health) test(ctx context.Context, open Opener, c llamacpp.Config, t *TypeTest, stderr io.Writer) error {
	e, err := Load(ctx, open, c, stderr)
	if err != nil {
		return err
	}
	defer e.Close()
	info := e.Info()
	if h.Model == nil {
		h.Model = &info
	}
	if info.NoSlices != "" {
		t.Unstored, t.OK = info.NoSlices, true
		return nil
	}
	cmdline.Say(stderr, "testing K/V type %s", c.KeyType)
	return t.Run(ctx, e)
}

// Conclude says what all of it means.
func (h *Health) Conclude() {
	h.Config = advice{KVTypes: []string{}, Threads: runtime.GOMAXPROCS(0)}
	h.Warnings, h.Failures = []string{}, []string{}
	warn := func(format string, args ...any) { h.Warnings = append(h.Warnings, fmt.Sprintf(format, args...)) }
	fail := func(format string, args ...any) { h.Failures = append(h.Failures, fmt.Sprintf(format, args...)) }
	if len(h.CPU.Missing) > 0 {
		fail("the binary needs CPU features that this machine lacks (%s): %s", strings.Join(h.CPU.Missing, ", "), h.CPU.Cure)
	}
	if len(h.CPU.Idle) > 0 {
		warn("this CPU has %s, but the binary was compiled without, so it computes slowly: %s", strings.Join(h.CPU.Idle, ", "), h.CPU.Cure)
	}
	if h.Model != nil && h.Model.NoSlices != "" {
		warn("slices of this model cannot be stored: %s", h.Model.NoSlices)
	}
	if h.Model == nil && len(h.Types) > 0 {
		fail("the model cannot be used: %s", h.Types[0].Reason)
	}
	for _, t := range h.Types {
		switch {
		case t.OK:
			h.Config.KVTypes = append(h.Config.KVTypes, t.Type)
		case h.Model == nil: // said once
		case t.Unsupported:
			warn("K/V type %s is off: %s", t.Type, t.Reason)
		default:
			fail("K/V type %s failed the self-test and is off: %s", t.Type, t.Reason)
		}
	}
	if h.Folder.Fault != "" {
		fail("data folder: %s", h.Folder.Fault)
	}
	h.OK = len(h.Failures) == 0
}

// BuiltIn is the built-in language model as a file in the user's cache.
func BuiltIn() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fault.New(fault.Unavailable, "percached: model", "there is no cache folder for the built-in model, name one with --model: %w", err)
	}
	return models.Nano(filepath.Join(user, "percached", "models"))
}
