package scheduler

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// sensor knows the state of the device: from the system's files, where there
// are any, and from what is posted. Its methods are called by one goroutine at
// a time.
type sensor struct {
	sys    fs.FS // as Linux has it at /sys; may be nil
	rules  Rules
	last   time.Time // when the system was read
	ever   bool
	energy energy

	charging             fact[bool]
	battery, temperature fact[float64]
}

func newSensor(sys fs.FS, r Rules) *sensor {
	s := &sensor{sys: sys, rules: r}
	s.energy.sample(sys)
	return s
}

// read asks the system, unless it did so less than ReadEvery ago. A clock that
// was set back is no reason to wait.
func (s *sensor) read(now time.Time) {
	s.settle(now)
	if s.sys == nil || s.ever && !now.Before(s.last) && now.Sub(s.last) < s.rules.ReadEvery {
		return
	}
	s.last, s.ever = now.Round(0), true
	s.readPower(now)
	s.readHeat(now)
	s.energy.sample(s.sys)
}

// post takes the state that the app tells. What it leaves out stays as known.
func (s *sensor) post(d Device) error {
	if err := d.validate(); err != nil {
		return err
	}
	if d.Charging != nil {
		s.charging.take(*d.Charging, d.At, false)
	}
	if d.Battery != nil {
		s.battery.take(*d.Battery, d.At, false)
	}
	if d.Temperature != nil {
		s.temperature.take(*d.Temperature, d.At, false)
	}
	return nil
}

// known is the state as last known, however long ago.
func (s *sensor) known(now time.Time) Device {
	s.settle(now)
	var d Device
	s.charging.into(&d.Charging, &d.At)
	s.battery.into(&d.Battery, &d.At)
	s.temperature.into(&d.Temperature, &d.At)
	return d
}

// settle takes a state from the future as one of now: some clock was ahead, or
// ours was set back. Else it would never grow stale, nor give way to newer ones.
func (s *sensor) settle(now time.Time) {
	s.charging.settle(now)
	s.battery.settle(now)
	s.temperature.settle(now)
}

// joules is the energy that the machine's processors took since newSensor, as
// far as the system tells.
func (s *sensor) joules() float64 {
	s.energy.sample(s.sys)
	return s.energy.total
}

// readPower reads the power supplies. Of several batteries the emptiest counts.
// A mouse's battery does not. Where there is no battery, no power coming in
// means nothing: the machine runs.
func (s *sensor) readPower(now time.Time) {
	const dir = "class/power_supply"
	names, ok := list(s.sys, dir)
	if !ok {
		return
	}
	var batteries int
	var charging, told bool
	level := 2.0 // more than full: none
	for _, name := range names {
		get := func(file string) string { return value(s.sys, path.Join(dir, name, file)) }
		if strings.EqualFold(get("scope"), "Device") || get("present") == "0" {
			continue
		}
		switch kind := get("type"); {
		case kind == "Battery" || kind == "UPS":
			batteries++
			if percent, ok := number(get("capacity"), 0, 100); ok {
				level = min(level, percent/100)
			}
			switch get("status") {
			case "Charging", "Full":
				charging, told = true, true
			case "Discharging", "Not charging":
				told = true
			}
		case kind == "Mains" || kind == "Wireless" || strings.HasPrefix(kind, "USB"):
			switch get("online") {
			case "1", "2": // 2: with a voltage that can be chosen
				charging, told = true, true
			case "0":
				told = true
			}
		}
	}
	switch {
	case level <= 1:
		s.battery.take(level, now, true)
	case batteries == 0:
		s.battery.gone()
	}
	switch {
	case charging, told && batteries > 0:
		s.charging.take(charging, now, true)
	case batteries == 0:
		s.charging.gone()
	}
}

// readHeat reads the temperatures. The hottest place counts.
func (s *sensor) readHeat(now time.Time) {
	const dir = "class/thermal"
	names, ok := list(s.sys, dir)
	if !ok {
		return
	}
	top, zones := float64(coldest-1), 0
	for _, name := range names {
		if !strings.HasPrefix(name, "thermal_zone") {
			continue
		}
		zones++
		if milli, ok := number(value(s.sys, path.Join(dir, name, "temp")), 1000*coldest, 1000*hottest); ok {
			top = max(top, milli/1000)
		}
	}
	switch {
	case top >= coldest:
		s.temperature.take(top, now, true)
	case zones == 0:
		s.temperature.gone()
	}
}

// list gives the names in a folder of the system. A folder that is not there is
// empty; ok is false if it could not be read.
func list(sys fs.FS, dir string) (names []string, ok bool) {
	if sys == nil {
		return nil, true
	}
	entries, err := fs.ReadDir(sys, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, false
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, true
}

// value is the one short line in a file of the system; empty where it cannot be
// had: drivers fail to read in many ways.
func value(sys fs.FS, name string) string {
	const most = 64
	f, err := sys.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // it was only read
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil || len(b) > most {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number reads a whole number between low and high.
func number(text string, low, high int64) (float64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return float64(n), err == nil && n >= low && n <= high
}
