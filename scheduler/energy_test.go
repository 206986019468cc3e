package scheduler

import (
	"io/fs"
	"math"
	"path"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text + "\n")} }

func total(s *sensor) float64 {
	s.energy.sample()
	return s.energy.total
}

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
			at := noon()
			later := func() time.Time { at = at.Add(time.Second); return at }
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
					s = newSensor(sys, Default().Device, later)
				}
				if got := total(s); math.Abs(got-tt.want[i]) > 1e-9 {
					t.Errorf("reading %d: %v J, want %v J", i, got, tt.want[i])
				}
			}
		})
	}
}

func TestJoulesWithoutSystem(t *testing.T) {
	if got := total(newSensor(nil, Rules{}, noon)); got != 0 {
		t.Errorf("%v J", got)
	}
}

// supply is a made device whose battery and processor are set at will.
type supply struct {
	fstest.MapFS
	now time.Time
}

func (s *supply) set(name, text string) { s.MapFS[name] = file(text) }

func (s *supply) battery(status, watts string) {
	s.set("class/power_supply/BAT0/type", "Battery")
	s.set("class/power_supply/BAT0/status", status)
	s.set("class/power_supply/BAT0/power_now", watts)
}

func powered() (*supply, *meter) {
	s := &supply{fstest.MapFS{}, noon()}
	return s, &meter{sys: s.MapFS, now: func() time.Time { return s.now }, power: math.NaN()}
}

// is checks what the end of a span returns; a negative energy means unknown.
func is(t *testing.T, what string, end func() (float64, bool), want float64) {
	t.Helper()
	if got, known := end(); known != (want >= 0) || known && math.Abs(got-want) > 1e-9 {
		t.Errorf("%s: %v J, known %t, want %v", what, got, known, want)
	}
}

// A discharging battery's power over the time is the energy; spans that run together share
// it evenly. On mains, and where nothing is readable, it is unknown.
func TestBatteryEnergy(t *testing.T) {
	s, m := powered()
	is(t, "no battery", m.begin(), -1)
	s.battery("Discharging", "10000000")
	first := m.begin()
	s.now = s.now.Add(4 * time.Second)
	second := m.begin()
	s.now = s.now.Add(6 * time.Second)
	is(t, "alone for 4 s, shared for 6 s", first, 40+30)
	s.now = s.now.Add(time.Second)
	is(t, "shared, then alone", second, 30+10)
	over := m.begin()
	s.now = s.now.Add(2 * time.Second)
	s.battery("Discharging", "30000000")
	is(t, "the mean of both powers", over, 40)
	over = m.begin()
	s.now = s.now.Add(2 * time.Second)
	s.battery("Charging", "30000000")
	is(t, "plugged in meanwhile", over, -1)
	over = m.begin()
	s.now = s.now.Add(2 * time.Second)
	s.battery("Discharging", "30000000")
	is(t, "unplugged meanwhile", over, -1)
	over = m.begin()
	s.now = s.now.Add(longestGap + time.Second)
	is(t, "the power was not read for long", over, -1)
	s.set("class/power_supply/BAT0/power_now", "0")
	is(t, "no power", m.begin(), -1)
	s.set("class/power_supply/BAT0/current_now", "-2000000")
	s.set("class/power_supply/BAT0/voltage_now", "4000000")
	s.now = s.now.Add(time.Second)
	over = m.begin()
	s.now = s.now.Add(time.Second)
	is(t, "current and voltage", over, 8)
	s.set("class/power_supply/hid/type", "Battery")
	s.set("class/power_supply/hid/scope", "Device")
	s.set("class/power_supply/hid/status", "Discharging")
	over = m.begin()
	s.now = s.now.Add(time.Second)
	is(t, "beside a mouse", over, 8)
	if source, why := m.why(); source != EnergyBattery || why == "" {
		t.Errorf("%s: %s", source, why)
	}
}

// countedFS counts how often the files of a name are opened.
type countedFS struct {
	fs.FS
	name  string
	opens int
}

func (c *countedFS) Open(name string) (fs.File, error) {
	if path.Base(name) == c.name {
		c.opens++
	}
	return c.FS.Open(name)
}

// A battery that gives nothing is not read for each request: its driver may be slow.
func TestPluggedInBatteryIsSeldomRead(t *testing.T) {
	s, m := powered()
	s.battery("Charging", "10000000")
	files := &countedFS{FS: s.MapFS, name: "status"}
	m.sys = files
	for range 40 {
		is(t, "plugged in", m.begin(), -1)
		s.now = s.now.Add(silentEvery / 40)
	}
	if files.opens != 1 {
		t.Errorf("the battery was read %d times in %v", files.opens, silentEvery)
	}
	s.battery("Discharging", "10000000")
	over := m.begin()
	s.now = s.now.Add(time.Second)
	is(t, "unplugged for long enough", over, 10)
	s.now = s.now.Add(-time.Hour)
	s.battery("Discharging", "20000000")
	m.sample()
	over = m.begin()
	s.now = s.now.Add(time.Second)
	is(t, "the clock was set back", over, 20)
}

// The processors' counters come first. A counter that may not be read is unknown, not zero.
func TestProcessorEnergy(t *testing.T) {
	const counter, most = "class/powercap/intel-rapl:0/energy_uj", "class/powercap/intel-rapl:0/max_energy_range_uj"
	s, m := powered()
	s.set(most, "10000000")
	s.battery("Discharging", "10000000")
	s.set(counter, "9000000")
	m.sample()
	over := m.begin()
	s.set(counter, "500000")
	s.now = s.now.Add(time.Second)
	is(t, "wrapped", over, 1.5)
	s.set(most, "262143000000")
	over = m.begin()
	s.set(counter, "100000")
	s.now = s.now.Add(time.Minute)
	is(t, "began anew: no processor draws that much", over, -1)
	s.set(most, "10000000")
	over = m.begin()
	delete(s.MapFS, counter)
	is(t, "became unreadable", over, -1)
	s.battery("Full", "0")
	s.set("class/powercap/intel-rapl:0/name", "package-0")
	s.now = s.now.Add(batteryEvery)
	is(t, "nothing", m.begin(), -1)
	if source, why := m.why(); source != EnergyUnknown || !strings.Contains(why, "root") {
		t.Errorf("%s: %s", source, why)
	}
}

// Each request gets its share of the energy while several run, and the shares add up to the
// sum. Unknown energy is nil, not zero.
func TestRequestEnergy(t *testing.T) {
	s, m := powered()
	requests := &Scheduler{meter: m}
	if got := requests.MeasureRequest()(time.Second); got != nil {
		t.Errorf("%v J where nothing is readable", *got)
	}
	s.battery("Discharging", "10000000")
	first, second := requests.MeasureRequest(), requests.MeasureRequest()
	s.now = s.now.Add(2 * time.Second)
	a := first(2 * time.Second)
	s.now = s.now.Add(2 * time.Second)
	b := second(4 * time.Second)
	if a == nil || b == nil || *a != 10 || *b != 30 {
		t.Errorf("%v and %v, want 10 and 30", a, b)
	}
	if e := requests.Energy(); e.Requests != 2 || e.Joules != 40 || e.Took != 6*time.Second {
		t.Errorf("%+v", e)
	}
}

// Energy decides about prediction where it is known of nearly all costs, and of requests.
func TestPaceByEnergy(t *testing.T) {
	zone, p := time.UTC, Pay{Horizon: 14 * 24 * time.Hour, Worth: 10}
	today := dateOf(noon(), zone)
	for name, tt := range map[string]struct {
		measured time.Duration
		joules   float64
		power    float64
		want     Speed
	}{
		"by time it pays":             {0, 0, 5, PaceFull},
		"requests were not measured":  {100 * time.Second, 9e9, 0, PaceFull},
		"too little was measured":     {80 * time.Second, 9e9, 5, PaceFull},
		"it costs more than it saves": {100 * time.Second, 1001, 5, PaceSlow},
		"it saves as much":            {100 * time.Second, 1000, 5, PaceFull},
	} {
		page := &ledgerDay{}
		page[Predict.rank()] = account{spent: int64(100 * time.Second), earned: int64(20 * time.Second), joules: tt.joules, measured: int64(tt.measured)}
		if got := computePace(map[date]*ledgerDay{today: page}, p, tt.power, noon(), zone); got.Speed != tt.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
