package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/config"
)

// dataFlag is the flag of every command with a data folder.
func dataFlag(cmd *cobra.Command, c *config.Config) {
	c.Data = config.DataFolder(config.Environment(os.Environ()))
	c.Flags(cmd, "data")
}

// documentFlags say how documents are cut and found.
func documentFlags(cmd *cobra.Command, c *config.Config) {
	c.Flags(cmd, "embed-model", "chunk-words", "threads", "gpu-layers")
}

// answerFlags say how questions are answered.
func answerFlags(cmd *cobra.Command, c *config.Config) {
	documentFlags(cmd, c)
	c.TensorLimit = config.DefaultTensorLimit
	c.Flags(cmd, "tensor-limit", "model", "kv", "context", "placement", "k", "threshold", "max-tokens")
}
