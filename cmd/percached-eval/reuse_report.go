package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/percached/percached"
)

// reuseReport is the report of bench reuse. Times are medians.
type reuseReport struct {
	Shape        string  `json:"shape,omitempty"`
	Quant        string  `json:"quant,omitempty"`
	Model        string  `json:"model"`
	Architecture string  `json:"architecture"`
	KV           string  `json:"kv"`
	FlashAttn    bool    `json:"flash_attn"`
	Placement    string  `json:"placement"`
	Planes       string  `json:"planes"`
	Chunks       int     `json:"chunks"`
	Tokens       int     `json:"tokens"`        // of the prompt
	StoredTokens int     `json:"stored_tokens"` // of its slices
	Threads      int     `json:"threads"`
	Split        int     `json:"split"`
	Runs         int     `json:"runs"`
	ColdMs       float64 `json:"cold_ms"`
	SuffixOnlyMs float64 `json:"suffix_only_ms"`
	// RestoreMs is the time to read, check and load slices from disk.
	RestoreMs       float64 `json:"restore_ms"`
	RestoreMemoryMs float64 `json:"restore_memory_ms"`
	WarmMs          float64 `json:"warm_ms"`
	WarmDiskMs      float64 `json:"warm_disk_ms"`
	Speedup         float64 `json:"speedup"`         // cold / warm from disk
	Overhead        float64 `json:"overhead"`        // warm from disk / suffix only
	OverheadMemory  float64 `json:"overhead_memory"` // warm from memory / suffix only
	RestoreShare    float64 `json:"restore_share"`   // restore / cold
	BytesPerToken   float64 `json:"bytes_per_token"` // of keys and values in a slice
	LogitsEqual     bool    `json:"logits_equal"`
	// Forms are the measurements with packed chunks; the logits then differ.
	Forms           []formTimes `json:"forms,omitempty"`
	PrefillRate     float64     `json:"prefill_tokens_per_s"`
	DecodeRate      float64     `json:"decode_tokens_per_s"`
	BarePrefillRate float64     `json:"bare_prefill_tokens_per_s"`
	BareDecodeRate  float64     `json:"bare_decode_tokens_per_s"`
	PrefillOfBare   float64     `json:"prefill_of_bare"` // median of the rounds' own ratios
	DecodeOfBare    float64     `json:"decode_of_bare"`
	// With planes qkv: the copy of the slices, a cold run with it, and queries.
	CaptureMs      float64 `json:"capture_ms,omitempty"`
	ColdCaptureMs  float64 `json:"cold_capture_ms,omitempty"`
	BytesPerTokenQ float64 `json:"bytes_per_token_q,omitempty"`
}

func (m *meter) report(info percached.ModelInfo) *reuseReport {
	r := &reuseReport{
		Model: info.Name, Architecture: info.Architecture, KV: info.KeyType, FlashAttn: info.FlashAttn,
		Placement: m.o.placement, Planes: m.o.planes, Chunks: m.o.chunks, Threads: info.Threads, Split: info.Split, Runs: m.o.runs,
		ColdMs: ms(median(m.cold)), SuffixOnlyMs: ms(median(m.suffix)),
		RestoreMs: ms(median(m.restoreDisk)), RestoreMemoryMs: ms(median(m.restore)),
		WarmMs: ms(median(m.warm)), WarmDiskMs: ms(median(m.warmDisk)), LogitsEqual: m.equal,
		PrefillRate: median(m.prefill), DecodeRate: median(m.decode),
		BarePrefillRate: median(m.barePrefill), BareDecodeRate: median(m.bareDecode),
		PrefillOfBare: median(ratios(m.prefill, m.barePrefill)), DecodeOfBare: median(ratios(m.decode, m.bareDecode)),
	}
	for _, s := range m.prompt.Segments {
		r.Tokens += len(s.Tokens)
	}
	var kv, q int
	for _, s := range m.slices {
		r.StoredTokens += len(s.Tokens)
		for i := range s.Pieces {
			kv += len(s.Pieces[i].KV)
			q += len(s.Pieces[i].Q)
		}
	}
	r.BytesPerToken = ratio(float64(kv), float64(r.StoredTokens))
	r.Forms = m.formReport()
	r.Speedup = ratio(r.ColdMs, r.WarmDiskMs)
	r.Overhead = ratio(r.WarmDiskMs, r.SuffixOnlyMs)
	r.OverheadMemory = ratio(r.WarmMs, r.SuffixOnlyMs)
	r.RestoreShare = ratio(r.RestoreMs, r.ColdMs)
	if m.prompt.Planes == percached.QKV {
		r.CaptureMs, r.ColdCaptureMs = ms(median(m.capture)), ms(median(m.coldCapture))
		r.BytesPerTokenQ = ratio(float64(q), float64(r.StoredTokens))
	}
	return r
}

func (r *reuseReport) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) { fmt.Fprintf(t, "%s\t%s\n", name, fmt.Sprintf(format, args...)) }
	row("model", "%s (%s), K/V %s, %s", r.Model, r.Architecture, r.KV, r.Placement)
	row("prompt", "%d tokens, %d of them in slices, %d chunks", r.Tokens, r.StoredTokens, r.Chunks)
	row("cold", "%.1f ms", r.ColdMs)
	row("suffix only", "%.1f ms", r.SuffixOnlyMs)
	row("warm from memory", "%.1f ms (%.2f of suffix only)", r.WarmMs, r.OverheadMemory)
	row("warm from disk", "%.1f ms (%.2f of suffix only)", r.WarmDiskMs, r.Overhead)
	row("restore", "%.1f ms from disk (%.1f %% of cold), %.1f ms from memory", r.RestoreMs, 100*r.RestoreShare, r.RestoreMemoryMs)
	row("speedup", "%.1f", r.Speedup)
	row("slices", "%.0f bytes per token", r.BytesPerToken)
	for _, f := range r.Forms {
		row("chunks in "+f.Form.String(), "%.0f bytes per token (%.2f times smaller), packed in %.1f ms, restored from disk in %.1f ms (%.2f of exact)",
			f.BytesPerToken, f.Smaller, f.PackMs, f.RestoreMs, f.RestoreOfExact)
	}
	if r.Planes == "qkv" {
		row("queries", "%.0f bytes per token; capture %.1f ms, cold with capture %.1f ms", r.BytesPerTokenQ, r.CaptureMs, r.ColdCaptureMs)
	}
	row("prefill", "%.1f tokens/s (bare loop %.1f, ratio %.3f)", r.PrefillRate, r.BarePrefillRate, r.PrefillOfBare)
	row("decode", "%.1f tokens/s (bare loop %.1f, ratio %.3f)", r.DecodeRate, r.BareDecodeRate, r.DecodeOfBare)
	row("logits", "%s", map[bool]string{true: "equal, bit for bit", false: "DIFFERENT"}[r.LogitsEqual])
	return t.Flush()
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// median returns 0 for no values.
func median[T cmp.Ordered](xs []T) T {
	return quantile(xs, 0.5)
}

// quantile is the smallest value that at least this share does not exceed.
func quantile[T cmp.Ordered](xs []T, share float64) T {
	var zero T
	if len(xs) == 0 {
		return zero
	}
	s := slices.Sorted(slices.Values(xs))
	i := int(math.Ceil(share*float64(len(s)))) - 1
	return s[min(max(i, 0), len(s)-1)]
}

// ratios divides the values round by round, because a slow phase of the machine affects both
// values of a round.
func ratios(a, b []float64) []float64 {
	var out []float64
	for i := range min(len(a), len(b)) {
		out = append(out, ratio(a[i], b[i]))
	}
	return out
}

// ratio is 0 for a zero divisor, because JSON has no infinity.
func ratio(a, b float64) float64 {
	if b == 0 {
		return 0
	}
	return a / b
}
