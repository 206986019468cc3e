package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/answer"
	"github.com/percached/percached/internal/idle"
)

func spacesCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "spaces", Short: "List, set and delete spaces", Args: cobra.NoArgs, RunE: help}
	cmd.AddCommand(spacesList(), spacesSet(), spacesDelete())
	return cmd
}

// spaceLine is a space as it is told of.
type spaceLine struct {
	Name      string             `json:"name"`
	Kind      string             `json:"kind"`
	Documents int                `json:"documents"`
	Chunks    int                `json:"chunks"`
	Settings  percached.Settings `json:"settings"`
}

type spacesReport struct {
	Spaces []spaceLine `json:"spaces"`
}

func (r *spacesReport) table(w io.Writer) error {
	p := &printer{w: w}
	for _, s := range r.Spaces {
		set, _ := json.Marshal(s.Settings)
		p.line("%-20s %-10s %6d documents %7d chunks  %s", s.Name, s.Kind, s.Documents, s.Chunks, set)
	}
	return p.err
}

func spacesList() *cobra.Command {
	c := defaultSetup()
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the spaces", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withService(cmd, c, false, func(_ context.Context, s *service) error {
				spaces, err := s.knowledge.Spaces()
				if err != nil {
					return err
				}
				r := &spacesReport{Spaces: []spaceLine{}}
				for _, sp := range spaces {
					st, err := s.knowledge.Stats(sp.Name)
					if err != nil {
						return err
					}
					r.Spaces = append(r.Spaces, spaceLine{sp.Name, sp.Kind, st.Documents, st.Chunks, sp.Settings})
				}
				return show(cmd.OutOrStdout(), asJSON, r)
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func spacesSet() *cobra.Command {
	c := defaultSetup()
	cmd := &cobra.Command{
		Use: "set SPACE KEY=VALUE...", Short: "Set what a space wants otherwise than the rest", Args: cobra.MinimumNArgs(2),
		Long: `Sets what a space wants otherwise than the service. The keys: threshold (0 to 1),
guard, bank, tensors (true or false), k, order (relevance, canonical), placement
(sequential, parallel), planes (kv, qkv). An empty value takes a setting back.

Of idle work:
  prediction   what is kept of predicted questions: off, answers (no tensors), or both
  stride       how many questions are predicted at a time (1 to 50)
  adaptive     false: predicted questions are answered whatever the threshold (true, false)
  conversion   false: entries without an answer and lost tensors stay as they are (true, false)

percached spaces list shows what is set.`,
		Example: `  percached spaces set mail threshold=0.92 planes=qkv
  percached spaces set mail prediction=off
  percached spaces set mail prediction=`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return withService(cmd, c, false, func(_ context.Context, s *service) error {
				sp, err := s.knowledge.Space(args[0])
				if err != nil {
					return err
				}
				if sp.Settings, err = adjusted(sp.Settings, args[1:]); err != nil {
					return err
				}
				if _, err := answer.Default().With(sp.Settings); err != nil {
					return err
				}
				if _, err := idle.Default().With(sp.Settings); err != nil {
					return err
				}
				return s.knowledge.Configure(sp.Name, sp.Settings)
			})
		},
	}
	c.dataFlag(cmd)
	return cmd
}

// adjusted lays key=value pairs over settings. The keys are those of the JSON.
func adjusted(set percached.Settings, pairs []string) (percached.Settings, error) {
	b, err := json.Marshal(set)
	if err != nil {
		return set, err
	}
	m := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &m); err != nil {
		return set, err
	}
	for _, pair := range pairs {
		key, value, ok := strings.Cut(pair, "=")
		if !ok {
			return set, misuse("%q is no KEY=VALUE", pair)
		}
		switch {
		case value == "":
			delete(m, key)
		case json.Valid([]byte(value)):
			m[key] = json.RawMessage(value)
		default:
			m[key], _ = json.Marshal(value) // a string always marshals
		}
	}
	if b, err = json.Marshal(m); err != nil {
		return set, err
	}
	dec := json.NewDecoder(strings.NewReader(string(b)))
	dec.DisallowUnknownFields()
	var out percached.Settings
	if err := dec.Decode(&out); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return set, misuse("settings: %s is to be %s", kind.Field, settingKind(kind.Type.Kind()))
		}
		return set, misuse("settings: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return out, nil
}

// settingKind says what may be set.
func settingKind(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	default:
		return "a word"
	}
}

func spacesDelete() *cobra.Command {
	c := defaultSetup()
	var asJSON bool
	cmd := &cobra.Command{
		Use: "delete SPACE", Short: "Forget a space and everything in it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withService(cmd, c, false, func(ctx context.Context, s *service) error {
				got, err := s.library.DeleteSpace(ctx, args[0])
				if err != nil {
					return err
				}
				return s.forgotten(ctx, cmd, got, asJSON)
			})
		},
	}
	c.dataFlag(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print a JSON object")
	return cmd
}

func reindexCommand() *cobra.Command {
	c := defaultSetup()
	var space string
	cmd := &cobra.Command{
		Use: "reindex", Short: "Build the indexes of words and vectors anew", Args: cobra.NoArgs,
		Long: `Builds the indexes of words and of vectors anew from the stored documents, and
gives stored questions new vectors if the embedding model has changed.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withService(cmd, c, false, func(ctx context.Context, s *service) error {
				return s.eachSpace(space, func(name string) error {
					if err := s.reindex(ctx, name, cmd.ErrOrStderr()); err != nil {
						return err
					}
					p := &printer{w: cmd.OutOrStdout()}
					p.line("%s: done", name)
					return p.err
				})
			})
		},
	}
	c.dataFlag(cmd)
	c.documentFlags(cmd)
	cmd.Flags().StringVar(&space, "space", "", "space to build anew (default: all)")
	return cmd
}

// reindex builds what is derived of a space's documents anew.
func (s *service) reindex(ctx context.Context, space string, stderr io.Writer) error {
	for _, step := range []struct {
		what string
		do   func(progress func(done, total int)) error
	}{
		{"words indexed", func(p func(int, int)) error { return s.index.Rebuild(ctx, space, p) }},
		{"vectors computed", func(p func(int, int)) error { _, err := s.index.Reembed(ctx, space, p); return err }},
	} {
		tell := steps(stderr, space+": "+step.what)
		if err := step.do(func(done, total int) { tell(float64(done) / float64(max(total, 1))) }); err != nil {
			return err
		}
	}
	_, err := s.bank.Reembed(ctx, space, s.embedder)
	return err
}
