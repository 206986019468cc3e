package main

import (
	"context"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/selftest"
	"github.com/percached/percached/llm/llamacpp"
)

// reuse has the options of bench reuse.
type reuse struct {
	source      selftest.Source
	kv          string
	placement   string
	planes      string
	chunks      int
	chunkTokens int
	system      int
	suffix      int
	generate    int
	runs        int
	threads     int
	split       int
	flash       string
	encrypt     bool
	json        bool
}

func reuseCommand(open selftest.Opener) *cobra.Command {
	var o reuse
	cmd := &cobra.Command{
		Use:   "reuse",
		Short: "Measure what stored tensors save on one prompt",
		Long: `Measures a prompt of system, chunks and question in four ways: cold, the question alone
on a context that holds the rest, warm from slices in memory, and warm from slices in a
reopened database (with a warm page cache). The runs alternate; the report has their
medians. If the model's slices can be packed, the chunks are also restored from disk in
smaller forms. The bare figures are those of llama.cpp alone on the same tokens.`,
		Args:    cobra.NoArgs,
		Example: `  percached-eval bench reuse --shape tiny`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			r, err := o.measure(cmd.Context(), open, cmd.ErrOrStderr())
			if err != nil {
				return err
			}
			err = cmdline.Show(cmd.OutOrStdout(), o.json, r)
			if err == nil && !r.LogitsEqual {
				err = fault.New(fault.Internal, "percached: reuse", "warm and cold runs gave different logits")
			}
			return err
		},
	}
	d := llamacpp.Default()
	o.source.Flags(cmd, "tiny")
	f := cmd.Flags()
	f.StringVar(&o.kv, "kv", "f16", "Type of keys and values: f16, q8_0 or q4_0")
	f.StringVar(&o.placement, "placement", "sequential", "Placement of chunks: sequential or parallel")
	f.StringVar(&o.planes, "planes", "kv", "Tensors in a slice: kv, or qkv with queries")
	f.IntVar(&o.chunks, "chunks", 4, "Number of chunks")
	f.IntVar(&o.chunkTokens, "chunk-tokens", 128, "Tokens of a chunk")
	f.IntVar(&o.system, "system-tokens", 64, "Tokens of the system segment")
	f.IntVar(&o.suffix, "suffix-tokens", 64, "Tokens of the question")
	f.IntVar(&o.generate, "generate", 128, "Tokens to decode")
	f.IntVar(&o.runs, "runs", 5, "Number of runs of each kind")
	f.IntVar(&o.threads, "threads", runtime.GOMAXPROCS(0), "Number of compute threads")
	f.IntVar(&o.split, "split", d.Split, "Tokens computed in one batch")
	f.StringVar(&o.flash, "flash-attn", d.FlashAttn, "Flash attention: auto, on or off")
	f.BoolVar(&o.encrypt, "encrypt", false, "Encrypt the database of the slices")
	f.BoolVar(&o.json, "json", false, "Print JSON")
	return cmd
}

func (o *reuse) check() error {
	if err := o.source.Check(); err != nil {
		return err
	}
	if err := parseType(o.kv); err != nil {
		return err
	}
	if _, err := parsePlacement(o.placement); err != nil {
		return err
	}
	if _, err := parsePlanes(o.planes); err != nil {
		return err
	}
	for _, n := range []struct {
		name       string
		value, min int
	}{
		{"chunks", o.chunks, 0},
		{"chunk-tokens", o.chunkTokens, 1},
		{"system-tokens", o.system, 1},
		{"suffix-tokens", o.suffix, 1},
		{"generate", o.generate, 2},
		{"runs", o.runs, 1},
		{"threads", o.threads, 1},
		{"split", o.split, 1},
	} {
		if n.value < n.min || n.value > 1<<20 {
			return cmdline.Misusef("--%s must be at least %d, not %d", n.name, n.min, n.value)
		}
	}
	return nil
}

func (o *reuse) sizes() []int {
	sizes := []int{o.system}
	for range o.chunks {
		sizes = append(sizes, o.chunkTokens)
	}
	return append(sizes, o.suffix)
}

// measure opens the engine and runs everything.
func (o *reuse) measure(ctx context.Context, open selftest.Opener, stderr io.Writer) (*reuseReport, error) {
	selftest.WarnSlow(stderr)
	path, err := o.source.File(ctx, stderr)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, n := range o.sizes() {
		total += n
	}
	c := llamacpp.Default()
	c.Model, c.Threads, c.Split, c.KeyType, c.ValueType = path, o.threads, o.split, o.kv, o.kv
	c.FlashAttn = o.flash
	c.Context = (total + o.generate + 255) / 256 * 256
	e, err := selftest.Load(ctx, open, c, stderr)
	if err != nil {
		return nil, err
	}
	defer e.Close()
	info := e.Info()
	if info.NoSlices != "" {
		return nil, fault.New(fault.Unsupported, "percached: reuse", "slices of this model cannot be stored: %s", info.NoSlices)
	}
	if total+o.generate > info.Context {
		return nil, fault.New(fault.Invalid, "percached: reuse", "%d tokens do not fit into the model's context of %d", total+o.generate, info.Context)
	}
	segs, err := selftest.ExactPrompt(e, 1, o.sizes()...)
	if err != nil {
		return nil, err
	}
	pl, _ := parsePlacement(o.placement)
	planes, _ := parsePlanes(o.planes)
	m := &meter{e: e, o: o, stderr: stderr, prompt: percached.Prompt{Segments: segs, Placement: pl, Planes: planes, Logits: true}}
	if err := m.all(ctx); err != nil {
		return nil, err
	}
	r := m.report(info)
	if o.source.Model == "" {
		r.Shape, r.Quant = o.source.Shape, o.source.Quant
	}
	return r, nil
}
