package selftest

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/internal/token"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/models"
)

// Health is the report of percached doctor.
type Health struct {
	OK       bool                 `json:"ok"`
	Full     bool                 `json:"full"` // all types were tested, not the first alone
	Machine  machine.Machine      `json:"machine"`
	CPU      llamacpp.CPUReport   `json:"cpu"`
	Library  string               `json:"llama_cpp"`    // llama.cpp and its device
	Random   bool                 `json:"random_model"` // the model has random weights
	Model    *percached.ModelInfo `json:"model"`        // with the first type of keys and values that opened
	Types    []TypeTest           `json:"kv_types"`
	Config   advice               `json:"config"`
	Folder   folderState          `json:"data"`
	Warnings []string             `json:"warnings"`
	Failures []string             `json:"failures"`

	GPULayers int
}

// advice is the configuration that works here.
type advice struct {
	KVTypes []string `json:"kv_types"`
	Threads int      `json:"threads"`
}

// kvTypes are the types of keys and values in order of preference.
var kvTypes = []string{"f16", "q8_0", "q4_0"}

// Examine tests the first type briefly, or, if h.Full is set, every type in full. An error means that a test could not run.
func (h *Health) Examine(ctx context.Context, open Opener, s *Source, stderr io.Writer) error {
	if len(h.CPU.Missing) > 0 {
		return nil // llama.cpp would crash
	}
	h.Library = llamacpp.Library()
	path, err := s.File(ctx, stderr)
	if err != nil {
		return err
	}
	h.Random = s.Model == ""
	types := kvTypes[:1]
	if h.Full {
		types = kvTypes
	}
	for _, typ := range types {
		c := llamacpp.Default()
		c.Model, c.KeyType, c.ValueType, c.Context, c.GPULayers = path, typ, typ, TestContext, h.GPULayers
		t := TypeTest{Type: typ}
		if err := h.test(ctx, open, c, &t, stderr); err != nil {
			if ctx.Err() != nil {
				return err
			}
			t.Reason = cmdline.Sentence(err)
			t.Unsupported = fault.KindOf(err) == fault.Unsupported
		}
		h.Types = append(h.Types, t)
	}
	return nil
}

func (h *Health) test(ctx context.Context, open Opener, c llamacpp.Config, t *TypeTest, stderr io.Writer) error {
	e, err := Load(ctx, open, c, stderr)
	if err != nil {
		return err
	}
	defer e.Close()
	info := e.Info()
	if h.Model == nil {
		h.Model = &info
	}
	if info.NoSlices != "" {
		t.Unstored, t.OK = info.NoSlices, true
		return nil
	}
	cmdline.Say(stderr, "testing type %s of keys and values", c.KeyType)
	return t.Run(ctx, e, h.Full)
}

// Conclude derives warnings, failures and advice.
func (h *Health) Conclude() {
	h.Config = advice{KVTypes: []string{}, Threads: runtime.GOMAXPROCS(0)}
	h.Warnings, h.Failures = []string{}, []string{}
	warn := func(format string, args ...any) { h.Warnings = append(h.Warnings, fmt.Sprintf(format, args...)) }
	fail := func(format string, args ...any) { h.Failures = append(h.Failures, fmt.Sprintf(format, args...)) }
	if len(h.CPU.Missing) > 0 {
		fail("the binary needs CPU features that this machine lacks (%s): %s", strings.Join(h.CPU.Missing, ", "), h.CPU.Cure)
	}
	if len(h.CPU.Idle) > 0 {
		warn("the binary does not use %s of this CPU, so it is slower: %s", strings.Join(h.CPU.Idle, ", "), h.CPU.Cure)
	}
	if h.Model != nil && h.Model.NoSlices != "" {
		warn("tensors of this model cannot be stored: %s", h.Model.NoSlices)
	}
	if h.Model == nil && len(h.Types) > 0 {
		fail("the model cannot be used: %s", h.Types[0].Reason)
	}
	for _, t := range h.Types {
		switch {
		case t.OK:
			h.Config.KVTypes = append(h.Config.KVTypes, t.Type)
		case h.Model == nil: // reported above
		case t.Unsupported:
			warn("type %s of keys and values is disabled: %s", t.Type, t.Reason)
		default:
			fail("type %s of keys and values failed the test and is disabled: %s", t.Type, t.Reason)
		}
	}
	if h.Folder.Backup != "" {
		fail("backups to object storage: %s", h.Folder.Backup)
	}
	if h.Folder.Fault != "" {
		fail("data folder: %s", h.Folder.Fault)
	}
	h.OK = len(h.Failures) == 0
}

// BuiltIn writes the built-in model to the user's cache folder and returns its path.
func BuiltIn() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", fault.New(fault.Unavailable, "percached: model", "there is no cache folder for the built-in model; use --model: %w", err)
	}
	return models.Nano(filepath.Join(user, "percached", "models"))
}

// folderState is the state of a data folder.
type folderState struct {
	Dir     string `json:"dir"`
	There   bool   `json:"there"`
	Daemon  string `json:"daemon,omitempty"`  // address of its daemon
	Version string `json:"version,omitempty"` // version of its daemon
	Fault   string `json:"fault,omitempty"`
	Backup  string `json:"backup_fault,omitempty"` // why the daemon's last backup to object storage failed
}

// CheckFolder checks whether a data folder can be used, and whether its daemon responds. It
// creates no folder.
func CheckFolder(ctx context.Context, dir string) (f folderState) {
	f = folderState{Dir: dir, There: dir != "" && home.Exists(dir)}
	if !f.There {
		return f
	}
	err := home.Check(dir)
	if err == nil {
		err = token.Verify(dir)
	}
	var l *link.Link
	if err == nil {
		l, err = link.Running(dir)
	}
	switch {
	case err != nil:
		f.Fault = cmdline.Sentence(err)
		return f
	case l == nil:
		return f
	}
	defer l.Close() //nolint:errcheck // nothing was written
	f.Daemon = l.Daemon
	about, err := l.AboutWithResponse(ctx)
	if err != nil {
		f.Fault = "the daemon at " + l.Daemon + ": " + cmdline.Sentence(err)
		return f
	}
	f.Version = about.JSON200.Version
	if now, err := l.GetStatusWithResponse(ctx); err == nil && now.JSON200.Backup != nil && now.JSON200.Backup.Error != nil {
		f.Backup = *now.JSON200.Backup.Error
	}
	return f
}

func (f folderState) describe() string {
	switch {
	case !f.There:
		return f.Dir + ": does not exist yet"
	case f.Fault != "":
		return f.Dir + ": cannot be used"
	case f.Daemon != "":
		return f.Dir + ": served at " + f.Daemon + " by percached " + f.Version
	}
	return f.Dir + ": no process uses it"
}

// Table prints the report.
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
			random = ", random weights"
		}
		row("model", "%s (%s)%s", m.Name, m.Architecture, random)
		row("size", "%.1f M parameters, %.1f MiB; %d layers, %d wide, %d heads (%d K/V), vocabulary %d",
			float64(m.Parameters)/1e6, float64(m.WeightBytes)/(1<<20), m.Layers, m.Width, m.Heads, m.HeadsKV, m.Vocabulary)
		row("context", "trained for %d tokens; chat format %s; flash attention %v", m.TrainContext, cmp.Or(m.Chat.Name, "plain"), m.FlashAttn)
		if m.GPULayers > 0 {
			row("GPU", "%d of %d layers, including the output layer", m.GPULayers, m.Layers+1)
		}
		row("slices", "%s", cmp.Or(m.NoSlices, fmt.Sprintf("%d bytes per token, fingerprint %.16s", m.BytesPerToken, m.Fingerprint)))
	}
	for _, k := range h.Types {
		row("K/V "+k.Type, "%s", describeType(&k))
	}
	if rest := kvTypes[min(len(h.Types), len(kvTypes)):]; len(h.Types) > 0 && len(rest) > 0 {
		row("K/V "+strings.Join(rest, ", "), "not tested; percached doctor --full tests all types, and more of each")
	}
	row("data folder", "%s", h.Folder.describe())
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
		_, err = fmt.Fprintln(w, "\nNo failures.")
	}
	return err
}

func describeType(t *TypeTest) string {
	switch {
	case t.Unstored != "":
		return "usable, not tested: tensors cannot be stored"
	case t.OK && t.NoParallel != "":
		return fmt.Sprintf("equal results with stored tensors and without (%d tokens, sequential placement; not parallel: %s)", t.Tokens, t.NoParallel)
	case t.OK:
		return fmt.Sprintf("equal results with stored tensors and without (%d tokens, both placements)", t.Tokens)
	case t.Unsupported:
		return "disabled: " + t.Reason
	}
	return "FAILED, disabled: " + t.Reason
}
