package commands

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/percached/percached/internal/base/cmdline"
)

// unknownCommand refuses a name that is no command below cmd, and says which was meant.
func unknownCommand(cmd *cobra.Command, name string) error {
	var names []string
	for _, under := range cmd.Commands() {
		if under.IsAvailableCommand() {
			names = append(names, under.Name())
		}
	}
	return cmdline.Misusef("unknown command %q for %q%s", name, cmd.CommandPath(), didYouMean(name, names, ""))
}

// unknownFlag adds to the error of an unknown flag which one was meant.
func unknownFlag(cmd *cobra.Command, err error) error {
	e, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || e.GetSpecifiedShortnames() != "" {
		return err
	}
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	return fmt.Errorf("%w%s", err, didYouMean(e.GetSpecifiedName(), names, "--"))
}

// didYouMean names the nearest of some names: those that begin with the given text, or differ
// from it by a few letters. It is empty if none is near.
func didYouMean(given string, names []string, prefix string) string {
	const most = 3
	given = strings.ToLower(given)
	allowed := 1 + len(given)/4
	var near []string
	for _, name := range names {
		if len(given) > 1 && strings.HasPrefix(name, given) || distance(given, name) <= allowed {
			near = append(near, name)
		}
	}
	if len(near) == 0 {
		return ""
	}
	slices.SortStableFunc(near, func(a, b string) int { return distance(given, a) - distance(given, b) })
	near = near[:min(len(near), most)]
	return " (did you mean " + prefix + strings.Join(near, " or "+prefix) + "?)"
}

// distance is how many letters must be put in, left out, replaced or swapped with the next to
// make b of a.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
