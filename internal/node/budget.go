package node

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/internal/budget"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/internal/pull"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/models"
)

// MinFree is how many bytes of the disk must be free for writes; to open a folder, half of it.
const MinFree = 128 << 20

// Reading is what the machine has at a moment. Negative numbers are unknown.
type Reading struct {
	Memory  budget.Memory
	Stalled float64 // share (0-1) of the time in which all work waited for memory
	Free    int64   // bytes on the disk of the data folder
}

// ReadMachine reads this machine.
func ReadMachine(data string) Reading {
	r := Reading{Memory: budget.Memory{Total: machine.Memory(), Available: machine.Available()}, Stalled: machine.Stalled(), Free: -1}
	if free, ok := durable.Free(data); ok {
		r.Free = free
	}
	return r
}

// Budget is what percached takes of a machine, and from what that follows.
type Budget struct {
	Reading
	Model   budget.Model // of the configured language model; zero if its file cannot be read
	Context budget.Context
	Disk    budget.Disk
	Tensors budget.Tensors
	Changed string // what changed since the start, as a sentence; empty: nothing
	Experts Experts
	Cached  int64 // bytes of the experts that are in memory; negative: unknown
	// Shares are how the memory is divided now, and Hot and Typed what is used of it; Shares is
	// nil if nothing divides it.
	Shares  *budget.Shares
	Hot     int64
	HotHits uint64 // slices that were lent from memory since the start
	Typed   int64
}

// budgets is the state of a node's budget.
type budgets struct {
	mu      sync.Mutex
	set     config.Config // as the user set it
	model   budget.Model
	context budget.Context // of the engine
	tensors budget.Tensors
	changed string
	shares  *budget.Shares // nil: not divided yet
	experts Experts

	counting sync.Mutex
	counted  time.Time // when cached was counted
	cached   int64
}

// Experts are where the language model has its experts; there are no parts if it is no mixture.
type Experts struct {
	File  string
	Parts []machine.Part
}

// Cached returns how many bytes of them are in memory; negative: unknown.
func (e Experts) Cached() int64 {
	if n, ok := machine.Cached(e.File, e.Parts); ok {
		return n
	}
	return -1
}

// recount is the time between two counts of the experts in memory: a count visits every page.
const recount = 5 * time.Second

// cachedExperts returns how many bytes of the experts were in memory a moment ago.
func (n *Node) cachedExperts(e Experts) int64 {
	if len(e.Parts) == 0 {
		return -1
	}
	n.budget.counting.Lock()
	defer n.budget.counting.Unlock()
	now := n.Now()
	if since := now.Sub(n.budget.counted); n.budget.counted.IsZero() || since < 0 || since >= recount {
		n.budget.counted, n.budget.cached = now, e.Cached()
	}
	return n.budget.cached
}

// modelOf is what a model file needs.
func modelOf(d llamacpp.Demand) budget.Model {
	return budget.Model{
		Weights: d.Weights, TokenBytes: d.TokenBytes, Scratch: d.Scratch, Parameters: d.Parameters,
		MaxContext: d.MaxContext, SameContext: d.SameContext, GPU: d.GPU, GPUWeights: d.GPUWeights, Experts: d.ExpertBytes, Working: d.WorkingBytes,
	}
}

// demandOf is what an open engine needs.
func demandOf(m percached.ModelInfo) budget.Model {
	return budget.Model{
		Weights: int64(m.WeightBytes), TokenBytes: int64(m.BytesPerToken), Parameters: int64(m.Parameters), MaxContext: m.TrainContext, GPU: m.GPULayers > 0,
	}
}

// read reads the machine.
func (n *Node) read() Reading {
	if n.Readings != nil {
		return n.Readings()
	}
	return ReadMachine(n.Home.Path())
}

// chosen is the value of a key, or 0 if percached is to choose.
func chosen(v int) int {
	if v == config.Auto {
		return 0
	}
	return v
}

// chooseContext sets the length of the context of an engine that is not open. It refuses a
// model that does not fit into the memory.
func (n *Node) chooseContext(c config.Config, l *llamacpp.Config) error {
	d, err := llamacpp.DemandOf(*l)
	if err != nil {
		return err
	}
	r := n.read()
	r.Memory.Threads = c.Threads
	model := modelOf(d).On(r.Memory, chosen(c.Context))
	context := budget.ChooseContext(r.Memory, model, chosen(c.Context))
	if context.Tokens == 0 {
		return n.tooLarge(l.Model, model, r.Memory)
	}
	l.Context = context.Tokens
	n.budget.mu.Lock()
	defer n.budget.mu.Unlock()
	n.budget.model, n.budget.context, n.budget.experts = model, context, Experts{File: l.Model, Parts: d.Experts}
	return nil
}

// contextLength is the length of the context that the engine opens with.
func (n *Node) contextLength() int {
	n.budget.mu.Lock()
	defer n.budget.mu.Unlock()
	return n.budget.context.Tokens
}

// setContext sets the context that the engine opens with.
func (n *Node) setContext(c budget.Context) {
	n.budget.mu.Lock()
	defer n.budget.mu.Unlock()
	n.budget.context = c
}

// shortOfMemory reports whether the context is shorter than usual because memory is scarce now.
func (n *Node) shortOfMemory() bool {
	n.budget.mu.Lock()
	defer n.budget.mu.Unlock()
	return n.budget.context.Bound == budget.ByMemory
}

// setConfig sets what the user set.
func (n *Node) setConfig(c config.Config) {
	n.budget.mu.Lock()
	defer n.budget.mu.Unlock()
	n.budget.set = c
}

// chooseTensors chooses the limit of stored tensors.
func (n *Node) chooseTensors(c config.Config) budget.Tensors {
	n.setConfig(c)
	t := tensorLimit(c, func() budget.Disk {
		held, _ := n.Tensors.Size()
		return budget.Disk{Free: n.read().Free, Held: held}
	})
	n.budget.mu.Lock()
	defer n.budget.mu.Unlock()
	n.budget.tensors = t
	return t
}

// tensorLimit is the limit that was set, or that of a disk.
func tensorLimit(c config.Config, disk func() budget.Disk) budget.Tensors {
	if c.TensorLimit != config.Auto {
		return budget.Tensors{Limit: c.TensorLimit, Bound: budget.BySetting}
	}
	return budget.ChooseTensors(disk())
}

// PlanTensors is the limit of stored tensors that a node of the data folder would choose, with so
// many bytes free.
func PlanTensors(c config.Config, free int64) budget.Tensors {
	return tensorLimit(c, func() budget.Disk {
		held, _ := kv.SizeOf(filepath.Join(c.Data, "tensors"))
		return budget.Disk{Free: free, Held: held}
	})
}

// Budget returns what this node takes of the machine.
func (n *Node) Budget() Budget {
	n.budget.mu.Lock()
	c := n.budget.set
	b := Budget{
		Model: n.budget.model, Context: n.budget.context, Tensors: n.budget.tensors, Changed: n.budget.changed,
		Shares: n.budget.shares, Experts: n.budget.experts,
	}
	n.budget.mu.Unlock()
	b.Reading, b.Disk = n.read(), budget.Disk{Free: -1}
	b.Memory.Threads = c.Threads
	if b.Disk.Free = b.Free; n.Tensors != nil {
		b.Disk.Held, _ = n.Tensors.Size()
	}
	if b.Shares != nil {
		b.Hot, b.HotHits = n.Tree.Hot()
		b.Typed = n.typedBytes()
	}
	switch {
	case b.Context.Tokens > 0:
	case n.Engine != nil: // it came from elsewhere
		info := n.Engine.Info()
		b.Model = demandOf(info)
		b.Context = budget.Context{Tokens: info.Context, Room: -1, Bytes: int64(info.Context) * b.Model.TokenBytes, Bound: budget.BySetting}
	default: // a command that opens no language model
		folder := n.Home.Path("models")
		path, err := ModelFile(folder, c.Model)
		if err == nil && path == "" {
			path, err = models.Nano(folder)
		}
		if err == nil {
			b.Model, b.Context, b.Experts = PlanContext(c, path, b.Memory)
		}
	}
	b.Cached = n.cachedExperts(b.Experts)
	return b
}

// PlanContext is what the model of a file needs, and the context that it would get. All are
// zero if the file cannot be read.
func PlanContext(c config.Config, path string, m budget.Memory) (budget.Model, budget.Context, Experts) {
	l := engineConfig(c)
	l.Model = path
	d, err := llamacpp.DemandOf(l)
	if err != nil {
		return budget.Model{}, budget.Context{}, Experts{}
	}
	m.Threads = c.Threads
	model := modelOf(d).On(m, chosen(c.Context))
	return model, budget.ChooseContext(m, model, chosen(c.Context)), Experts{File: path, Parts: d.Experts}
}

// engineConfig is the configuration of the engine without its model.
func engineConfig(c config.Config) llamacpp.Config {
	l := llamacpp.Default()
	l.KeyType, l.ValueType, l.Threads, l.GPULayers = c.KV, c.KV, c.Threads, c.GPULayers
	return l
}

// tooLarge is the error of a model that does not fit, with a model that would.
func (n *Node) tooLarge(path string, model budget.Model, m budget.Memory) error {
	cures := []string{"close other programs"}
	if !n.BuiltInModel {
		if other := n.smallestModel(m.Available); other != "" {
			cures = append(cures, "use "+other)
		}
		cures = append(cures, "leave the key model empty to use the built-in model")
	}
	return fault.New(fault.Unavailable, "percached: model", "%s does not fit into the memory: it needs at least %d MiB (weights %d MiB), and %d MiB are free; %s",
		filepath.Base(path), model.Needs()>>20, model.Weights>>20, max(0, m.Available)>>20, strings.Join(cures, ", or "))
}

// smallestModel names the smallest language model that fits into free memory: one in the folder
// of models, or else one to pull. It is empty if none fits.
func (n *Node) smallestModel(free int64) string {
	var best string
	least := free
	folder := n.Home.Path("models")
	files, _ := fs.Glob(os.DirFS(folder), "*.gguf")
	for _, file := range files {
		l := llamacpp.Default()
		l.Model, l.GPULayers = filepath.Join(folder, file), 0
		d, err := llamacpp.DemandOf(l)
		name := strings.TrimSuffix(file, ".gguf")
		if need := modelOf(d).On(budget.Memory{Available: free}, 0).Needs(); err == nil && d.Writes && need <= least && !strings.HasPrefix(name, "nano-") {
			best, least = name, need
		}
	}
	if best != "" {
		return best
	}
	for _, e := range pull.Catalog() {
		// The file is not here: keys and values of a short context take less than an eighth of it.
		if need := (budget.Model{Weights: e.Bytes + e.Bytes/8, Scratch: 64 << 20}).Needs(); !e.Embeds && need <= least {
			best, least = e.Name+" (percached pull "+e.Name+")", need
		}
	}
	return best
}
