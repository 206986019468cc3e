package scheduler

import (
	"errors"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// noon is the start time of the device tests.
func noon() time.Time { return time.Date(2024, 3, 9, 12, 0, 0, 0, time.UTC) }

// tree creates the system's files: folders with files as "name=text".
func tree(folders map[string]string) fstest.MapFS {
	sys := fstest.MapFS{}
	for folder, files := range folders {
		for _, f := range strings.Split(files, ",") {
			name, text, _ := strings.Cut(f, "=")
			sys["class/"+folder+"/"+name] = file(text)
		}
	}
	return sys
}

func device(charging *bool, battery, temperature *float64, at time.Time) Device {
	return Device{Charging: charging, Battery: battery, Temperature: temperature, At: at}
}

// The device state from various system files.
func TestSystem(t *testing.T) {
	const (
		bat0 = "power_supply/BAT0"
		bat1 = "power_supply/BAT1"
		ac   = "power_supply/AC"
		usb  = "power_supply/usb"
		hot  = "thermal/thermal_zone0"
	)
	yes, no := new(true), new(false)
	for name, tt := range map[string]struct {
		files map[string]string
		want  Device // its time follows
	}{
		"nothing":          {nil, Device{}},
		"plugged in":       {map[string]string{bat0: "type=Battery,status=Charging,capacity=57", ac: "type=Mains,online=1"}, device(yes, new(0.57), nil, noon())},
		"unplugged":        {map[string]string{bat0: "type=Battery,status=Discharging,capacity=57", ac: "type=Mains,online=0"}, device(no, new(0.57), nil, noon())},
		"charge held":      {map[string]string{bat0: "type=Battery,status=Not charging,capacity=80", ac: "type=Mains,online=1"}, device(yes, new(0.8), nil, noon())},
		"full":             {map[string]string{bat0: "type=Battery,status=Full,capacity=100"}, device(yes, new(1.0), nil, noon())},
		"by usb":           {map[string]string{bat0: "type=Battery,status=Unknown,capacity=5", ac: "type=Mains,online=0", usb: "type=USB_PD,online=2"}, device(yes, new(0.05), nil, noon())},
		"two batteries":    {map[string]string{bat0: "type=Battery,status=Unknown,capacity=90", bat1: "type=Battery,status=Discharging,capacity=20"}, device(no, new(0.2), nil, noon())},
		"an empty slot":    {map[string]string{bat0: "type=Battery,status=Discharging,capacity=90", bat1: "type=Battery,present=0,capacity=0,status=Unknown"}, device(no, new(0.9), nil, noon())},
		"one charges":      {map[string]string{bat0: "type=Battery,status=Charging,capacity=90", bat1: "type=Battery,status=Discharging,capacity=20"}, device(yes, new(0.2), nil, noon())},
		"ups":              {map[string]string{"power_supply/ups": "type=UPS,status=Discharging,capacity=33"}, device(no, new(0.33), nil, noon())},
		"a full ups":       {map[string]string{"power_supply/ups": "type=UPS,status=Not charging,capacity=100"}, device(yes, new(1.0), nil, noon())},
		"a mouse":          {map[string]string{"power_supply/hid": "type=Battery,scope=Device,status=Discharging,capacity=3"}, Device{}},
		"desktop":          {map[string]string{usb: "type=USB,online=0"}, Device{}},
		"desktop on mains": {map[string]string{ac: "type=Mains,online=1", usb: "type=USB,online=0"}, device(yes, nil, nil, noon())},
		"unknown":          {map[string]string{bat0: "type=Battery,status=Unknown,capacity=50"}, device(nil, new(0.5), nil, noon())},
		"garbage":          {map[string]string{bat0: "type=Battery,status=\x00\xff,capacity=lots", ac: "type=Mains,online=maybe", usb: "online=1", hot: "temp=warm"}, Device{}},
		"huge":             {map[string]string{bat0: "type=Battery,capacity=99999999999999999999", bat1: "type=Battery,capacity=101", hot: "temp=9999999999"}, Device{}},
		"endless":          {map[string]string{bat0: "type=Battery,capacity=5" + strings.Repeat(" ", 100)}, Device{}},
		"hottest":          {map[string]string{hot: "temp=41500", "thermal/thermal_zone1": "temp=38000", "thermal/cooling_device0": "temp=99000"}, device(nil, nil, new(41.5), noon())},
		"absurd":           {map[string]string{hot: "temp=-273150", "thermal/thermal_zone1": "temp=150001", "thermal/thermal_zone2": "temp=-3000"}, device(nil, nil, new(-3.0), noon())},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSensor(tree(tt.files), Default().Device, noon)
			s.refresh(noon())
			if diff := cmp.Diff(tt.want, s.known(noon())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// broken fails to open the named files and to list the named folders.
type broken struct {
	fs.FS
	names string
}

func (b broken) Open(name string) (fs.File, error) {
	if strings.Contains(b.names, name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return b.FS.Open(name)
}

// An unreadable file lets the known value become stale; a missing sensor removes it.
func TestSensorsThatFail(t *testing.T) {
	r := Default().Device
	r.ChargingOnly = false
	files := map[string]string{"power_supply/BAT0": "type=Battery,status=Discharging,capacity=80", "thermal/thermal_zone0": "temp=40000"}
	before := device(new(false), new(0.8), new(40.0), noon())
	for name, tt := range map[string]struct {
		then  fs.FS
		known Device
		codes []string // after the known values became stale
	}{
		"folders":    {broken{tree(files), "class/power_supply class/thermal"}, before, []string{ReasonDeviceStale}},
		"capacity":   {broken{tree(files), "class/power_supply/BAT0/capacity"}, before, []string{ReasonDeviceStale}},
		"heat":       {broken{tree(files), "class/thermal/thermal_zone0/temp"}, before, []string{ReasonDeviceStale}},
		"taken away": {fstest.MapFS{}, Device{}, nil},
		"battery taken away": {
			tree(map[string]string{"power_supply/AC": "type=Mains,online=1", "thermal/thermal_zone0": "temp=40000"}),
			device(new(true), nil, new(40.0), noon().Add(time.Hour)), nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSensor(tree(files), r, noon)
			s.refresh(noon())
			if diff := cmp.Diff(before, s.known(noon())); diff != "" {
				t.Fatal(diff)
			}
			s.sys = tt.then
			at := noon().Add(time.Hour)
			s.refresh(at)
			if diff := cmp.Diff(tt.known, s.known(at)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.codes, codes(s.reasons(at))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// counting counts how often a folder is listed.
type counting struct {
	fs.FS
	n *int
}

func (c counting) Open(name string) (fs.File, error) {
	if name == "class/thermal" {
		*c.n++
	}
	return c.FS.Open(name)
}

// The system is read at most once every ReadEvery, even when the clock is set back.
func TestReadEvery(t *testing.T) {
	var n int
	s := newSensor(counting{fstest.MapFS{}, &n}, Rules{ReadEvery: 30 * time.Second}, noon)
	for i, step := range []struct {
		after time.Duration // noon
		want  int
	}{{0, 1}, {29 * time.Second, 1}, {30 * time.Second, 2}, {59 * time.Second, 2}, {-time.Hour, 3}, {-time.Hour + time.Second, 3}} {
		s.refresh(noon().Add(step.after))
		if n != step.want {
			t.Errorf("step %d: the system was asked %d times, want %d", i, n, step.want)
		}
	}
}

// With any system files the device state is valid.
func FuzzSystem(f *testing.F) {
	f.Add("Battery", "Charging", "57", "1", "40000", "12345")
	f.Add("Mains", "", "-1", "0", "-50001", "18446744073709551615")
	f.Add("USB_C", "Full", "1e3", "0x1", "NaN", "")
	f.Fuzz(func(t *testing.T, kind, status, capacity, online, temp, uj string) {
		const supply = "class/power_supply/x/"
		sys := fstest.MapFS{
			supply + "type": file(kind), supply + "status": file(status), supply + "capacity": file(capacity), supply + "online": file(online),
			"class/thermal/thermal_zone0/temp":        file(temp),
			"class/powercap/intel-rapl:0/energy_uj":   file("0"),
			"class/powercap/intel-rapl:0:0/energy_uj": file(uj),
		}
		s := newSensor(sys, Default().Device, noon)
		sys["class/powercap/intel-rapl:0/energy_uj"] = file(uj)
		s.refresh(noon())
		d := s.known(noon())
		if d.Charging != nil || d.Battery != nil || d.Temperature != nil {
			if err := d.validate(); err != nil {
				t.Error(err)
			}
		}
		if j := total(s); math.IsNaN(j) || j < 0 || j > 1e9 {
			t.Errorf("%v J", j)
		}
		for _, r := range s.reasons(noon()) {
			if r.Code == ReasonDeviceStale {
				t.Error("stale at once")
			}
		}
	})
}

// A system where every read fails counts as none.
func TestSystemThatFails(t *testing.T) {
	s := newSensor(failing{}, Default().Device, noon)
	s.refresh(noon())
	if got := s.reasons(noon()); got != nil || total(s) != 0 {
		t.Errorf("%v, %v J", got, total(s))
	}
}

type failing struct{}

func (failing) Open(string) (fs.File, error) { return nil, errors.New("no such device") }
