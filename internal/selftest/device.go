package selftest

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/home"
	"github.com/percached/percached/internal/base/machine"
	"github.com/percached/percached/internal/budget"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/llm/llamacpp"
	"github.com/percached/percached/models"
	"github.com/percached/percached/scheduler"
)

// Device is the report of percached doctor --device: which optimisation works on this machine.
type Device struct {
	Machine       machine.Machine `json:"machine"`
	Optimisations []Optimisation  `json:"optimisations"`
}

// Optimisation is one row of the report.
type Optimisation struct {
	Name  string `json:"name"`
	On    bool   `json:"on"`
	Why   string `json:"why"`
	Needs string `json:"needs,omitempty"` // what would turn it on; empty if it is on
}

// Facts is what the rows are derived from.
type Facts struct {
	Config  config.Config
	BuiltIn bool                // the language model is the built-in one
	Model   percached.ModelInfo // of the open engine
	CPU     llamacpp.CPUReport
	Library string // llama.cpp and its device
	Context budget.Context
	Tensors budget.Tensors
	// Experts are bytes of a mixture's experts, and Resident what of them is in memory; negative:
	// unknown.
	Experts, Resident int64
	Cores             string // to which threads are bound, or why to none
	Sys               fs.FS  // Linux's /sys
	Now               func() time.Time

	system scheduler.System // what Sys says
}

// rows has one func for each optimisation, in the order of the report. A new optimisation gets a
// row here.
func rows() []func(*Facts) Optimisation {
	return []func(*Facts) Optimisation{
		instructions, gpuLayers, fastCores, flashAttention, storedTensors, placement, drafts, tiers, prediction, idleOnBattery,
		memoryBudget, experts, diskBudget, encryption, energyReadings,
	}
}

// Examine fills in the rows.
func (d *Device) Examine(f Facts) {
	d.Machine = machine.This()
	f.system = scheduler.ReadSystem(f.Sys, f.Now)
	for _, row := range rows() {
		r := row(&f)
		if r.On {
			r.Needs = ""
		}
		d.Optimisations = append(d.Optimisations, r)
	}
}

// Table prints the report.
func (d *Device) Table(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, r := range d.Optimisations {
		state := "off"
		if r.On {
			state = "on"
		}
		why := r.Why
		if r.Needs != "" {
			why += "; it needs " + r.Needs
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", r.Name, state, why)
	}
	return t.Flush()
}

func instructions(f *Facts) Optimisation {
	return Optimisation{
		"instructions of the CPU", len(f.CPU.Idle) == 0,
		cmp.Or(unless(len(f.CPU.Idle) == 0, "the binary does not use "+strings.Join(f.CPU.Idle, ", ")), "the binary uses all that speed it up"), f.CPU.Cure,
	}
}

func gpuLayers(f *Facts) Optimisation {
	o := Optimisation{Name: "layers on a GPU", On: f.Model.GPULayers > 0, Needs: "a build with an installed llama.cpp and its GPU backend (make build LLAMA=system)"}
	switch {
	case o.On:
		o.Why = fmt.Sprintf("%d of %d layers", f.Model.GPULayers, f.Model.Layers+1)
	case f.Config.GPULayers == 0:
		o.Why, o.Needs = "gpu-layers is 0", "another value of gpu-layers"
	default:
		o.Why = "llama.cpp is " + f.Library
	}
	return o
}

// fastCores: threads on slow cores delay those on fast ones.
func fastCores(f *Facts) Optimisation {
	return Optimisation{Name: "threads on fast cores", On: true, Why: fmt.Sprintf("%s; at most %d threads", f.Cores, f.Config.Threads)}
}

func flashAttention(f *Facts) Optimisation {
	return Optimisation{
		"flash attention", f.Model.FlashAttn, cmp.Or(unless(f.Model.FlashAttn, "llama.cpp does not use it for this model"), "one pass over keys and values; drafts rest on it"), "another model, or a newer llama.cpp",
	}
}

func storedTensors(f *Facts) Optimisation {
	on := f.Model.NoSlices == "" && f.Tensors.Limit > 0
	why := cmp.Or(f.Model.NoSlices, unless(f.Tensors.Limit > 0, "tensor-limit is 0: "+f.Tensors.Why()), fmt.Sprintf("%d bytes a token, loaded instead of computed", f.Model.BytesPerToken))
	return Optimisation{"stored tensors", on, why, cmp.Or(unless(f.Model.NoSlices == "", "another model"), "free disk space, or another tensor-limit")}
}

func placement(f *Facts) Optimisation {
	p, measured := models.Placement(f.Model)
	o := Optimisation{Name: "chunks side by side", On: p == percached.Parallel, Needs: "a measurement in favour: idle work makes it for each kind of documents (percached status shows it)"}
	switch {
	case f.Model.NoParallel != "":
		o.On, o.Why, o.Needs = false, f.Model.NoParallel, "another model"
	case f.Config.Placement != "":
		o.On, o.Why, o.Needs = f.Config.Placement == percached.Parallel.String(), "placement is "+f.Config.Placement, "an empty placement"
	case f.BuiltIn:
		o.On, o.Why = models.NanoPlacement == percached.Parallel, "the built-in model was trained with it"
	case measured:
		o.Why = "measured for this family of models"
	default:
		o.Why = "most models are trained on sequential text"
	}
	return o
}

func drafts(f *Facts) Optimisation {
	return Optimisation{"drafts", f.Model.NoDrafts == "", cmp.Or(f.Model.NoDrafts, "stored answers and the prompt itself are checked several tokens at a time, where that is faster"), cmp.Or(unless(f.Model.GPULayers == 0, "gpu-layers 0, which is slower"), "another model")}
}

func tiers(f *Facts) Optimisation {
	most := f.Config.MaxChanged
	return Optimisation{
		"smaller forms of tensors", most > 0 && f.Model.NoSlices == "",
		cmp.Or(f.Model.NoSlices, unless(most > 0, "max-changed is 0"), fmt.Sprintf("used near the tensor-limit, if the form changes at most %.3g %% of your answers (percached status shows it)", 100*most)),
		cmp.Or(unless(f.Model.NoSlices == "", "another model"), "max-changed above 0"),
	}
}

func prediction(f *Facts) Optimisation {
	on := f.Config.Idle.Prediction != "off"
	return Optimisation{"prediction", on, cmp.Or(unless(on, "prediction is off"), "while it saves more than it costs (percached idle shows it)"), "prediction = both"}
}

func idleOnBattery(f *Facts) Optimisation {
	o := Optimisation{Name: "idle work on battery", On: true, Needs: "a charger, or a lower min-battery"}
	s, least, level := f.system, f.Config.Idle.MinBattery, "the battery does not say its level"
	if s.Battery != nil {
		level = fmt.Sprintf("the battery is at %.0f %%", 100**s.Battery)
	}
	switch plugged := s.Charging != nil && *s.Charging; {
	case !s.HasBattery:
		o.Why = "the system shows no battery"
	case f.Config.Idle.Charging:
		o.On, o.Why, o.Needs = false, "idle work waits until the device is charging", "charging-only = false"
	case !plugged && s.Battery != nil && *s.Battery < least:
		o.On, o.Why = false, fmt.Sprintf("%s, below %.0f %%, and not charging", level, 100*least)
	default:
		o.Why = fmt.Sprintf("%s; unplugged, idle work stops below %.0f %%", level, 100*least)
	}
	return o
}

func memoryBudget(f *Facts) Optimisation {
	on := f.Config.Context == config.Auto
	return Optimisation{"memory budget", on, fmt.Sprintf("the context has %d tokens, %s: %s", f.Context.Tokens, cmdline.Size(f.Context.Bytes), f.Context.Why()), "context = auto"}
}

// experts of a mixture are read from the file where the memory does not hold them.
func experts(f *Facts) Optimisation {
	o := Optimisation{Name: "experts in memory", On: !f.Context.Mapped, Why: "the model has no experts", Needs: "more free memory, or a smaller model"}
	if f.Experts > 0 {
		o.Why = fmt.Sprintf("the memory holds all %s of experts", cmdline.Size(f.Experts))
		if f.Context.Mapped {
			o.Why = fmt.Sprintf("the memory does not hold %s of experts: the model reads them from its file when it uses them (mmap), so answers are slower", cmdline.Size(f.Experts))
		}
		if f.Resident >= 0 {
			o.Why += fmt.Sprintf("; %s are in memory now", cmdline.Size(f.Resident))
		}
	}
	return o
}

func diskBudget(f *Facts) Optimisation {
	on := f.Config.TensorLimit == config.Auto
	return Optimisation{"disk budget", on, fmt.Sprintf("stored tensors take at most %s: %s", cmdline.Size(f.Tensors.Limit), f.Tensors.Why()), "tensor-limit = auto"}
}

func encryption(f *Facts) Optimisation {
	on := home.Encrypted(f.Config.Data)
	return Optimisation{"encryption at rest", on, cmp.Or(unless(on, "the data folder is not encrypted"), "the data folder is encrypted"), "percached init --encrypt, and a backup to fill the new folder"}
}

func energyReadings(f *Facts) Optimisation {
	e := f.system.Energy
	return Optimisation{"energy readings", e.Source != scheduler.EnergyUnknown, e.Why, "energy counters of the CPU (RAPL) that this user can read"}
}

// unless is a text where a condition does not hold.
func unless(holds bool, text string) string {
	if holds {
		return ""
	}
	return text
}
