package main

import (
	"encoding/json"
	"io"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
)

func benchCommand(open opener) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure this machine and a model",
		Args:  cobra.NoArgs,
		RunE:  help,
	}
	cmd.AddCommand(reuseCommand(open), preemptCommand(open), answersCommand(open), repeatsCommand(), hitsCommand(), scheduleCommand(), benchPredictCommand())
	return cmd
}

// showable is what a command tells, as JSON or as a table.
type showable interface{ table(w io.Writer) error }

// show prints a report for programs or for people.
func show(w io.Writer, asJSON bool, r showable) error {
	if asJSON {
		return writeJSON(w, r)
	}
	return r.table(w)
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func parsePlacement(s string) (p percached.Placement, err error) {
	if p.UnmarshalText([]byte(s)) != nil {
		return p, misuse("--placement must be sequential or parallel, not %q", s)
	}
	return p, nil
}

func parsePlanes(s string) (p percached.Planes, err error) {
	if p.UnmarshalText([]byte(s)) != nil {
		return p, misuse("--planes must be kv or qkv, not %q", s)
	}
	return p, nil
}

func parseType(s string) error {
	switch s {
	case "f16", "q8_0", "q4_0":
		return nil
	}
	return misuse("--kv must be f16, q8_0 or q4_0, not %q", s)
}
