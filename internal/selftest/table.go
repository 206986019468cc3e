package selftest

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// table is the report for people.
func (h *Health) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	memory := "memory unknown"
	if h.Machine.MemoryBytes > 0 {
		memory = fmt.Sprintf("%.1f GiB of memory", float64(h.Machine.MemoryBytes)/(1<<30))
	}
	row("machine", "%s/%s, %d CPUs, %s", h.Machine.OS, h.Machine.Arch, h.Machine.CPUs, memory)
	row("CPU", "%s", cmp.Or(h.CPU.Model, "unknown"))
	row("available", "%s", cmp.Or(strings.Join(h.CPU.Available, " "), "unknown"))
	row("compiled in", "%s (%s)", cmp.Or(strings.Join(h.CPU.Compiled, " "), "nothing beyond the baseline"), h.CPU.Compiler)
	row("llama.cpp", "%s", cmp.Or(h.Library, "not loaded"))
	if m := h.Model; m != nil {
		random := ""
		if h.Random {
			random = ", random weights: a stand-in for want of --model"
		}
		row("model", "%s (%s)%s", m.Name, m.Architecture, random)
		row("size", "%.1f M parameters, %.1f MiB; %d layers, %d wide, %d heads (%d K/V), vocabulary %d",
			float64(m.Parameters)/1e6, float64(m.WeightBytes)/(1<<20), m.Layers, m.Width, m.Heads, m.HeadsKV, m.Vocabulary)
		row("context", "trained for %d tokens; chat format %s; flash attention %v", m.TrainContext, cmp.Or(m.Chat.Name, "plain"), m.FlashAttn)
		if m.GPULayers > 0 {
			row("GPU", "%d of %d layers, the output counted as one", m.GPULayers, m.Layers+1)
		}
		row("slices", "%s", cmp.Or(m.NoSlices, fmt.Sprintf("%d bytes per token, fingerprint %.16s", m.BytesPerToken, m.Fingerprint)))
	}
	for _, k := range h.Types {
		row("K/V "+k.Type, "%s", typeWords(&k))
	}
	row("data folder", "%s", h.Folder.words())
	if err := t.Flush(); err != nil {
		return err
	}
	for _, s := range h.Warnings {
		fmt.Fprintf(w, "warning: %s\n", s)
	}
	for _, s := range h.Failures {
		fmt.Fprintf(w, "FAILED: %s\n", s)
	}
	_, err := fmt.Fprintf(w, "\nkv_types: [%s]\nthreads: %d\n", strings.Join(h.Config.KVTypes, ", "), h.Config.Threads)
	if err == nil && h.OK {
		_, err = fmt.Fprintln(w, "\nAll is well.")
	}
	return err
}

func typeWords(t *TypeTest) string {
	switch {
	case t.Unstored != "":
		return "usable; nothing to test, as slices cannot be stored"
	case t.OK && t.NoParallel != "":
		return fmt.Sprintf("cold, warm and warm from disk are equal (%d tokens, sequential placement; not parallel: %s)", t.Tokens, t.NoParallel)
	case t.OK:
		return fmt.Sprintf("cold, warm and warm from disk are equal (%d tokens, both placements)", t.Tokens)
	case t.Unsupported:
		return "off: " + t.Reason
	}
	return "FAILED, off: " + t.Reason
}
