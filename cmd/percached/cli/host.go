package cli

import (
	"github.com/spf13/cobra"

	"github.com/percached/percached/internal/link"
)

// Host leads commands to a percached.
type Host interface {
	// Flags gives a command the flags that say which percached is meant, and those of
	// some keys of the configuration.
	Flags(cmd *cobra.Command, keys ...string)
	// Dial opens the way to it. The caller closes the link.
	Dial(cmd *cobra.Command, n Need) (*link.Link, error)
}

// Need is what a command needs of a percached that is opened for it.
type Need struct {
	Folder bool // it is made if there is none
	Model  bool // questions are to be answered
}
