package selftest

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/budget"
	"github.com/percached/percached/internal/config"
	"github.com/percached/percached/llm/llamacpp"
)

// sys is a machine's /sys.
func sys(files map[string]string) fstest.MapFS {
	m := fstest.MapFS{}
	for name, text := range files {
		m[name] = &fstest.MapFile{Data: []byte(text + "\n")}
	}
	return m
}

func battery(status, percent string) map[string]string {
	return map[string]string{
		"class/power_supply/BAT0/type": "Battery", "class/power_supply/BAT0/status": status, "class/power_supply/BAT0/capacity": percent,
	}
}

// usual is a good model on a good machine.
func usual() Facts {
	return Facts{
		Config: config.DaemonDefault(), Model: percached.ModelInfo{FlashAttn: true, Layers: 12, GPULayers: 13, BytesPerToken: 4096}, Sys: sys(nil), Now: time.Now,
		Context: budget.Context{Tokens: 4096}, Tensors: budget.Tensors{Limit: 1 << 30, Bound: budget.ByDisk},
	}
}

// mouse is a desktop with a wireless mouse.
func mouse() fs.FS {
	return sys(map[string]string{
		"class/power_supply/hid/type": "Battery", "class/power_supply/hid/scope": "Device",
		"class/power_supply/hid/status": "Discharging", "class/power_supply/hid/capacity": "30",
	})
}

// Each optimisation is off for a reason, and says what it needs.
func TestDeviceRows(t *testing.T) {
	for _, tc := range []struct {
		row    string
		change func(f *Facts)
		on     bool
		why    string
	}{
		{"instructions of the CPU", func(f *Facts) {}, true, "all that speed it up"},
		{"instructions of the CPU", func(f *Facts) { f.CPU = llamacpp.CPUReport{Idle: []string{"avx2"}, Cure: "build anew"} }, false, "avx2"},
		{"layers on a GPU", func(f *Facts) {}, true, "13 of 13"},
		{"layers on a GPU", func(f *Facts) { f.Model.GPULayers, f.Library = 0, "bundled" }, false, "bundled"},
		{"layers on a GPU", func(f *Facts) { f.Model.GPULayers, f.Config.GPULayers = 0, 0 }, false, "gpu-layers is 0"},
		{"threads on fast cores", func(f *Facts) { f.Cores = "4 of 8 processors are fast" }, true, "4 of 8"},
		{"smaller forms of tensors", func(f *Facts) {}, true, "at most 2 %"},
		{"smaller forms of tensors", func(f *Facts) { f.Config.MaxChanged = 0 }, false, "max-changed is 0"},
		{"encryption at rest", func(f *Facts) {}, false, "not encrypted"},
		{"flash attention", func(f *Facts) { f.Model.FlashAttn = false }, false, "does not use it"},
		{"stored tensors", func(f *Facts) { f.Model.NoSlices = "recurrent" }, false, "recurrent"},
		{"stored tensors", func(f *Facts) { f.Tensors.Limit = 0 }, false, "tensor-limit is 0"},
		{"chunks side by side", func(f *Facts) {}, false, "sequential text"},
		{"chunks side by side", func(f *Facts) { f.BuiltIn = true }, true, "trained"},
		{"chunks side by side", func(f *Facts) { f.Config.Placement = "parallel" }, true, "placement is parallel"},
		{"drafts", func(f *Facts) { f.Model.NoDrafts = "uneven" }, false, "uneven"},
		{"prediction", func(f *Facts) { f.Config.Idle.Prediction = "off" }, false, "off"},
		{"idle work on battery", func(f *Facts) {}, true, "no battery"},
		{"idle work on battery", func(f *Facts) { f.Sys = mouse() }, true, "no battery"},
		{"idle work on battery", func(f *Facts) {
			f.Sys = sys(map[string]string{"class/power_supply/BAT0/type": "Battery", "class/power_supply/BAT0/capacity": "90"})
		}, false, "until the device is charging"},
		{"idle work on battery", func(f *Facts) {
			f.Config.Idle.Charging = false
			f.Sys = sys(map[string]string{"class/power_supply/BAT0/type": "Battery", "class/power_supply/BAT0/capacity": "20", "class/power_supply/BAT0/status": "Discharging"})
		}, false, "20 %, below 40 %"},
		{"idle work on battery", func(f *Facts) {
			f.Config.Idle.Charging = false
			f.Sys = sys(map[string]string{"class/power_supply/BAT0/type": "Battery", "class/power_supply/BAT0/capacity": "20", "class/power_supply/BAT0/status": "Charging"})
		}, true, "20 %"},
		{"memory budget", func(f *Facts) {}, true, "4096 tokens"},
		{"memory budget", func(f *Facts) { f.Config.Context = 512 }, false, "tokens"},
		{"experts in memory", func(f *Facts) {}, true, "no experts"},
		{"experts in memory", func(f *Facts) { f.Experts, f.Resident = 1<<30, 1<<29 }, true, "holds all 1.0 GiB of experts; 512.0 MiB are in memory"},
		{"experts in memory", func(f *Facts) { f.Experts, f.Resident, f.Context.Mapped = 1<<30, -1, true }, false, "answers are slower"},
		{"disk budget", func(f *Facts) { f.Config.TensorLimit = 5 }, false, "at most"},
		{"energy readings", func(f *Facts) { f.Sys = sys(map[string]string{"class/powercap/intel-rapl:0/energy_uj": "1"}) }, true, "(RAPL)"},
		{"energy readings", func(f *Facts) { // parts of a processor, and the whole machine, are not read for questions
			f.Sys = sys(map[string]string{
				"class/powercap/intel-rapl:0:0/energy_uj": "1",
				"class/powercap/intel-rapl:1/energy_uj":   "1", "class/powercap/intel-rapl:1/name": "psys",
			})
		}, false, "cannot be read"},
		{"energy readings", func(f *Facts) { f.Sys = sys(battery("Discharging", "90")) }, false, "no battery that discharges says its power"},
		{"energy readings", func(f *Facts) {
			files := battery("Discharging", "90")
			files["class/power_supply/BAT0/power_now"] = "9000000"
			f.Sys = sys(files)
		}, true, "the battery gives"},
		{"idle work on battery", func(f *Facts) { // the emptiest battery counts
			f.Config.Idle.Charging = false
			files := battery("Discharging", "90")
			files["class/power_supply/BAT1/type"], files["class/power_supply/BAT1/capacity"] = "Battery", "20"
			f.Sys = sys(files)
		}, false, "20 %, below 40 %"},
		{"energy readings", func(f *Facts) {}, false, "no energy counters"},
		{"energy readings", func(f *Facts) { f.Sys = mouse() }, false, "no energy counters"},
	} {
		t.Run(tc.row, func(t *testing.T) {
			f := usual()
			tc.change(&f)
			var d Device
			d.Examine(f)
			for _, r := range d.Optimisations {
				if r.Why == "" || r.On != (r.Needs == "") {
					t.Errorf("%+v has no reason, or needs something although it is on, or nothing although it is off", r)
				}
				if r.Name == tc.row && (r.On != tc.on || !strings.Contains(r.Why, tc.why)) {
					t.Errorf("%+v, want on %v because %q", r, tc.on, tc.why)
				}
			}
			var out bytes.Buffer
			if err := d.Table(&out); err != nil || !strings.Contains(out.String(), tc.row) {
				t.Errorf("%v: %s", err, out.String())
			}
		})
	}
}
