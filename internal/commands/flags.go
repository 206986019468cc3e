package commands

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/config"
)

// DataFlag is the flag of every command with a data folder.
func DataFlag(cmd *cobra.Command, c *config.Config) {
	c.Data = config.DataFolder(config.Environment(os.Environ()))
	c.Flags(cmd, "data")
}

// DocumentFlags say how documents are cut and found.
func DocumentFlags(cmd *cobra.Command, c *config.Config) {
	c.Flags(cmd, "embed-model", "chunk-words", "threads", "gpu-layers")
}

// AnswerFlags say how questions are answered.
func AnswerFlags(cmd *cobra.Command, c *config.Config) {
	DocumentFlags(cmd, c)
	c.TensorLimit = config.Auto
	c.Flags(cmd, "tensor-limit", "model", "kv", "context", "placement", "k", "threshold", "max-wrong", "max-tokens")
}

// KeyFlags gives a command flags for keys. They override other settings.
func KeyFlags(cmd *cobra.Command, flags *[]config.Setting, has func(config.Key) bool) {
	usual := config.DaemonDefault()
	for _, k := range config.Keys() {
		if has(k) {
			v := k.Of(&usual)
			v.Set = func(text string) error {
				*flags = append(*flags, config.FromFlag(k.Name, text))
				return nil
			}
			k.FlagFor(cmd, v)
		}
	}
}

// IsFlag says that percached serve has a flag for a key.
func IsFlag(k config.Key) bool { return k.Flag }
