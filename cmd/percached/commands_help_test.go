package main

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/percached/percached/internal/commands"
)

// everyCommand calls fn with every command except cobra's own.
func everyCommand(fn func(cmd *cobra.Command)) {
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if name := cmd.Name(); name == "completion" || name == "help" {
			return
		}
		fn(cmd)
		for _, under := range cmd.Commands() {
			walk(under)
		}
	}
	walk(root(strings.NewReader(""), io.Discard, io.Discard))
}

// The help of every command has its description, an example, its flags and its subcommands.
func TestHelpIsWhole(t *testing.T) {
	everyCommand(func(cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		help, errs, status := called(t.Context(), append(path, "--help")...)
		if status != commands.ExitDone || errs != "" {
			t.Errorf("%s --help: status %d, says %q", cmd.CommandPath(), status, errs)
		}
		if same, _, _ := called(t.Context(), append([]string{"help"}, path...)...); same != help {
			t.Errorf("help %v: %s", path, cmp.Diff(help, same))
		}
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") || strings.ToUpper(cmd.Short[:1]) != cmd.Short[:1] {
			t.Errorf("%s: what it does is said by %q", cmd.CommandPath(), cmd.Short)
		}
		wants := []string{cmd.Short}
		if cmd.Long != "" {
			wants = []string{cmd.Long}
		}
		for _, under := range cmd.Commands() {
			if !under.Hidden {
				wants = append(wants, "  "+under.Name()+" ", under.Short)
			}
		}
		if !cmd.HasSubCommands() {
			if !strings.Contains(cmd.Example, "  "+cmd.CommandPath()) {
				t.Errorf("%s has no example, but %q", cmd.CommandPath(), cmd.Example)
			}
			wants = append(wants, cmd.Example)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.TrimSpace(f.Usage) == "" {
				t.Errorf("%s --%s says nothing of what it is for", cmd.CommandPath(), f.Name)
			}
			if n := strings.Count(f.Usage, "(default"); n > 1 || n == 1 && !slices.Contains([]string{"", "0", "0s", "[]"}, f.DefValue) {
				t.Errorf("%s --%s tells its default twice: %q, %q", cmd.CommandPath(), f.Name, f.Usage, f.DefValue)
			}
			wants = append(wants, "--"+f.Name)
		})
		for _, want := range wants {
			if !strings.Contains(help, want) {
				t.Errorf("%s --help does not have %q", cmd.CommandPath(), want)
			}
		}
	})
}

// Every example is a valid command line: known commands and flags, and the right number of
// arguments.
func TestExamplesAreUnderstood(t *testing.T) {
	everyCommand(func(cmd *cobra.Command) {
		for line := range strings.Lines(cmd.Example) {
			call, _, _ := strings.Cut(strings.TrimSpace(line), " < ")
			call, _, _ = strings.Cut(call, " | ")
			called := shellWords(call)
			if len(called) == 0 || called[0] != "percached" {
				continue
			}
			all := root(strings.NewReader(""), io.Discard, io.Discard)
			of, rest, err := all.Find(called[1:])
			if err != nil || !strings.HasPrefix(of.CommandPath(), cmd.CommandPath()) {
				t.Errorf("%s: the example %q is a call of %s: %v", cmd.CommandPath(), call, of.CommandPath(), err)
				continue
			}
			if err := of.ParseFlags(rest); err != nil {
				t.Errorf("%q: %v", call, err)
			}
			if err := of.ValidateArgs(of.Flags().Args()); err != nil {
				t.Errorf("%q: %v", call, err)
			}
		}
	})
}

// shellWords splits a command line like a shell.
func shellWords(call string) (all []string) {
	for i, part := range strings.Split(call, `"`) {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

// An unknown name is refused everywhere.
func TestUnknownCommands(t *testing.T) {
	everyCommand(func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() {
			return
		}
		path := strings.Fields(cmd.CommandPath())[1:]
		for _, args := range [][]string{append(path, "nosuch"), append(append([]string{"help"}, path...), "nosuch")} {
			out, errs, status := called(t.Context(), args...)
			of := cmd.CommandPath()
			if args[0] == "help" {
				of = "percached help"
			}
			want := `percached: unknown command "nosuch" for "` + cmd.CommandPath() + `"; see ` + of + " --help\n"
			if status != commands.ExitMisused || errs != want || out != "" {
				t.Errorf("%v: status %d, says %q, %q", args, status, errs, out)
			}
		}
	})
}
