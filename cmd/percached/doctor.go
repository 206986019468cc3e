package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/percached/percached/internal/node"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/llm/llamacpp"
)

func doctorCommand(open opener) *cobra.Command {
	var s source
	var asJSON bool
	c := node.Default()
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check that machine, binary and model go together",
		Long: `Tells what the machine and the binary have, and tests for each type of keys and
values and for both placements that the same prompt gives the same tokens and
logits cold, warm from slices, and warm from slices that went through a
database. Without --model it takes the built-in one, with --shape one of random
weights. And it looks whether the data folder can be used, and whether a daemon answers for it.

Exit status 0 if all is well. CPU features that lie idle, a type that the model
cannot have, and a model whose slices cannot be stored are warnings: all works,
but slower than it could. A failed self-test, CPU features that the binary needs
and the machine lacks, a model that cannot be opened, and a data folder that cannot
be used or whose daemon does not answer are failures.`,
		Example: `  percached doctor
  percached doctor --model FILE.gguf --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := s.theOneThatAnswers(cmd, c.Data); err != nil {
				return err
			}
			if err := s.check(); err != nil {
				return err
			}
			r := &health{Machine: machine.This(), CPU: llamacpp.CPU(), gpuLayers: c.GPULayers, Folder: lookAt(cmd.Context(), c.Data)}
			if err := r.examine(cmd.Context(), open, &s, cmd.ErrOrStderr()); err != nil {
				return err
			}
			r.conclude()
			if err := cmdline.Show(cmd.OutOrStdout(), asJSON, r); err != nil {
				return err
			}
			if !r.OK {
				return cmdline.Unwell{}
			}
			return nil
		},
	}
	s.flags(cmd, "")
	dataFlag(cmd, &c.Config)
	c.Flags(cmd, "gpu-layers")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

// theOneThatAnswers is the model that is tested: the one that is named, as ask and
// serve find it, or the built-in one unless one of random weights is wanted.
func (s *source) theOneThatAnswers(cmd *cobra.Command, data string) (err error) {
	switch {
	case s.model != "":
		s.model, err = node.ModelFile(filepath.Join(data, "models"), s.model)
	case !cmd.Flags().Changed("shape") && !cmd.Flags().Changed("quant"):
		s.model, err = builtIn()
	case s.shape == "":
		s.shape = "tiny"
	}
	return err
}

// health is all that doctor found out.
type health struct {
	OK       bool                 `json:"ok"`
	Machine  machine.Machine      `json:"machine"`
	CPU      llamacpp.CPUReport   `json:"cpu"`
	Library  string               `json:"llama_cpp"`    // which llama.cpp computes, and on what
	Random   bool                 `json:"random_model"` // the model's weights mean nothing
	Model    *percached.ModelInfo `json:"model"`        // with the first K/V type that opened
	Types    []typeTest           `json:"kv_types"`
	Config   advice               `json:"config"`
	Folder   folderState          `json:"data"`
	Warnings []string             `json:"warnings"`
	Failures []string             `json:"failures"`

	gpuLayers int
}

// config is what can be used here.
type advice struct {
	KVTypes []string `json:"kv_types"`
	Threads int      `json:"threads"`
}

// kvTypes in the order of preference.
var kvTypes = []string{"f16", "q8_0", "q4_0"}

// examine tests every type; its error is that of a test that could not be made.
func (h *health) examine(ctx context.Context, open opener, s *source, stderr io.Writer) error {
	if len(h.CPU.Missing) > 0 {
		return nil // C would die
	}
	h.Library = llamacpp.Library()
	path, err := s.file(ctx, stderr)
	if err != nil {
		return err
	}
	h.Random = s.model == ""
	for _, typ := range kvTypes {
		c := llamacpp.Default()
		c.Model, c.KeyType, c.ValueType, c.Context, c.GPULayers = path, typ, typ, testContext, h.gpuLayers
		t := typeTest{Type: typ}
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

func (h *health) test(ctx context.Context, open opener, c llamacpp.Config, t *typeTest, stderr io.Writer) error {
	e, err := loadModel(ctx, open, c, stderr)
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
	return t.run(ctx, e)
}

// conclude says what all of it means.
func (h *health) conclude() {
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
