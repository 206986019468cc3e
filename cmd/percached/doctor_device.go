package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/daemon"
	"github.com/percached/percached/internal/node"
	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/llm/llamacpp"
)

// examineDevice opens the model under the configuration of a data folder, and says which
// optimisations are on.
func examineDevice(cmd *cobra.Command, open selftest.Opener, s *selftest.Source, data string) (*selftest.Device, error) {
	flags := []config.Setting{config.FromFlag("data", data)}
	if f := cmd.Flags().Lookup("gpu-layers"); f.Changed {
		flags = append(flags, config.FromFlag("gpu-layers", f.Value.String()))
	}
	conf, err := config.Load("", os.Environ(), flags, daemon.CheckConfig)
	if err != nil {
		return nil, err
	}
	f := selftest.Facts{Config: conf.Now(), CPU: llamacpp.CPU(), Sys: os.DirFS("/sys"), Now: time.Now}
	_, f.Cores = llamacpp.FastCores()
	chosen := cmd.Flags().Changed("model") || cmd.Flags().Changed("shape") || cmd.Flags().Changed("quant")
	if !chosen {
		s.Model = f.Config.Model
	}
	f.BuiltIn = !chosen && s.Model == ""
	if err := chooseModel(s, cmd, data); err != nil {
		return nil, err
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	path, err := s.File(cmd.Context(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	there := data
	if _, err := os.Stat(there); err != nil {
		there = "." // the folder does not exist yet
	}
	r := node.ReadMachine(there)
	model, plan, experts := node.PlanContext(f.Config, path, r.Memory)
	f.Context, f.Experts, f.Resident = plan, model.Experts+model.Mapped, experts.Cached()
	f.Tensors = node.PlanTensors(f.Config, r.Free)
	c := llamacpp.Default()
	c.Model, c.KeyType, c.ValueType, c.Threads, c.GPULayers = path, f.Config.KV, f.Config.KV, f.Config.Threads, f.Config.GPULayers
	c.Context = selftest.TestContext // the length changes nothing that is reported
	e, err := selftest.Load(cmd.Context(), open, c, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	defer e.Close() //nolint:errcheck // nothing was written
	f.Model, f.Library = e.Info(), llamacpp.Library()
	d := &selftest.Device{Machine: machine.This()}
	d.Examine(f)
	return d, nil
}
