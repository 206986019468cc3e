package scheduler

import (
	"math"
	"testing"
	"testing/fstest"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }

// joules follows the counters. Unreadable or impossible values count as zero.
func TestJoules(t *testing.T) {
	const zone = "class/powercap/intel-rapl:0/"
	type files map[string]string
	for _, tt := range []struct {
		name  string
		steps []files // changes of the files before each read; an empty text removes one
		want  []float64
	}{
		{"nothing there", []files{{}, {}}, []float64{0, 0}},
		{
			"one zone",
			[]files{{zone + "energy_uj": "5000000"}, {zone + "energy_uj": "7500000"}, {zone + "energy_uj": "7500000"}},
			[]float64{0, 2.5, 2.5},
		},
		{
			"begins anew at its range",
			[]files{{zone + "energy_uj": "9000000", zone + "max_energy_range_uj": "10000000"}, {zone + "energy_uj": "500000"}},
			[]float64{0, 1.5},
		},
		{
			"goes back, with no range",
			[]files{{zone + "energy_uj": "9000000"}, {zone + "energy_uj": "500000"}, {zone + "energy_uj": "1500000"}},
			[]float64{0, 0, 1},
		},
		{
			"goes back from beyond its range",
			[]files{{zone + "energy_uj": "9000000", zone + "max_energy_range_uj": "8000000"}, {zone + "energy_uj": "500000"}},
			[]float64{0, 0},
		},
		{
			"two packages, parts of them, the whole machine, another kind",
			[]files{
				{
					zone + "energy_uj": "0", zone + "name": "package-0",
					"class/powercap/intel-rapl:1/energy_uj": "0", "class/powercap/intel-rapl:1/name": "package-1",
					"class/powercap/intel-rapl:0:0/energy_uj": "0", "class/powercap/intel-rapl:0:0/name": "core",
					"class/powercap/intel-rapl:2/energy_uj": "0", "class/powercap/intel-rapl:2/name": "psys",
					"class/powercap/intel-rapl-mmio:0/energy_uj": "0", "class/powercap/intel-rapl/enabled": "1",
				},
				{
					zone + "energy_uj":                           "1000000",
					"class/powercap/intel-rapl:1/energy_uj":      "2000000",
					"class/powercap/intel-rapl:0:0/energy_uj":    "4000000",
					"class/powercap/intel-rapl:2/energy_uj":      "8000000",
					"class/powercap/intel-rapl-mmio:0/energy_uj": "16000000",
				},
			},
			[]float64{0, 3},
		},
		{
			"comes, is garbage, is huge, goes, comes back",
			[]files{
				{},
				{zone + "energy_uj": "1000000"},
				{zone + "energy_uj": "many"},
				{zone + "energy_uj": "99999999999999999999"},
				{zone + "energy_uj": "9999999999999999"},
				{zone + "energy_uj": "-1"},
				{zone + "energy_uj": ""},
				{zone + "energy_uj": "3000000"},
			},
			[]float64{0, 0, 0, 0, 0, 0, 0, 2},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sys := fstest.MapFS{}
			var s *sensor
			for i, step := range tt.steps {
				for name, text := range step {
					if text == "" {
						delete(sys, name)
						continue
					}
					sys[name] = file(text)
				}
				if s == nil {
					s = newSensor(sys, Default().Device)
				}
				if got := s.joules(); math.Abs(got-tt.want[i]) > 1e-9 {
					t.Errorf("reading %d: %v J, want %v J", i, got, tt.want[i])
				}
			}
		})
	}
}

func TestJoulesWithoutSystem(t *testing.T) {
	if got := newSensor(nil, Rules{}).joules(); got != 0 {
		t.Errorf("%v J", got)
	}
}
