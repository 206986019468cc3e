package scheduler

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
	"time"
)

// sensor holds the device state, from the system's files and from posted states. One
// goroutine at a time calls its methods.
type sensor struct {
	sys    fs.FS // Linux's /sys; may be nil
	rules  Rules
	last   time.Time // last read of the system
	ever   bool
	energy *meter
	// hasBattery: the system has a battery of its own, whatever that reports.
	hasBattery bool

	charging             fact[bool]
	battery, temperature fact[float64]
}

func newSensor(sys fs.FS, r Rules, now func() time.Time) *sensor {
	s := &sensor{sys: sys, rules: r, energy: &meter{sys: sys, now: now, power: math.NaN()}}
	s.energy.sample()
	return s
}

// refresh reads the system's files, at most once every ReadEvery. A clock that was set
// back does not delay it.
func (s *sensor) refresh(now time.Time) {
	s.clampToNow(now)
	if s.sys == nil || s.ever && !now.Before(s.last) && now.Sub(s.last) < s.rules.ReadEvery {
		return
	}
	s.last, s.ever = now.Round(0), true
	s.readPower(now)
	s.readHeat(now)
	s.energy.sample()
}

// post records a posted state. Values that it leaves out stay unchanged.
func (s *sensor) post(d Device) error {
	if err := d.validate(); err != nil {
		return err
	}
	if d.Charging != nil {
		s.charging.update(*d.Charging, d.At, false)
	}
	if d.Battery != nil {
		s.battery.update(*d.Battery, d.At, false)
	}
	if d.Temperature != nil {
		s.temperature.update(*d.Temperature, d.At, false)
	}
	return nil
}

// known is the last known state, however old.
func (s *sensor) known(now time.Time) Device {
	s.clampToNow(now)
	var d Device
	s.charging.copyTo(&d.Charging, &d.At)
	s.battery.copyTo(&d.Battery, &d.At)
	s.temperature.copyTo(&d.Temperature, &d.At)
	return d
}

// clampToNow changes future times to now: a clock was ahead, or ours was set back.
// Otherwise such a state would never become stale or be replaced. It forgets old ones.
func (s *sensor) clampToNow(now time.Time) {
	s.charging.clampToNow(now)
	s.battery.clampToNow(now)
	s.temperature.clampToNow(now)
	s.charging.forget(now, s.rules)
	s.battery.forget(now, s.rules)
	s.temperature.forget(now, s.rules)
}

// readPower reads the power supplies. The emptiest of several batteries counts; a
// peripheral's battery does not. Without a battery, an offline mains supply means
// nothing, because the machine runs.
func (s *sensor) readPower(now time.Time) {
	const dir = "class/power_supply"
	names, ok := list(s.sys, dir)
	if !ok {
		return
	}
	var batteries int
	s.hasBattery = false
	var charging, told bool
	level := 2.0 // above full: no battery
	for _, name := range names {
		get := func(file string) string { return value(s.sys, path.Join(dir, name, file)) }
		if strings.EqualFold(get("scope"), "Device") || get("present") == "0" {
			continue
		}
		switch kind := get("type"); {
		case kind == "Battery" || kind == "UPS":
			batteries++
			s.hasBattery = s.hasBattery || kind == "Battery"
			if percent, ok := number(get("capacity"), 0, 100); ok {
				level = min(level, percent/100)
			}
			switch get("status") {
			case "Charging", "Full":
				charging, told = true, true
			case "Not charging": // a UPS that gives nothing has mains
				charging, told = charging || kind == "UPS", true
			case "Discharging":
				told = true
			}
		case kind == "Mains" || kind == "Wireless" || strings.HasPrefix(kind, "USB"):
			switch get("online") {
			case "1", "2": // 2: programmable voltage
				charging, told = true, true
			case "0":
				told = true
			}
		}
	}
	switch {
	case level <= 1:
		s.battery.update(level, now, true)
	case batteries == 0:
		s.battery.clearSystem()
	}
	switch {
	case charging, told && batteries > 0:
		s.charging.update(charging, now, true)
	case batteries == 0:
		s.charging.clearSystem()
	}
}

// readHeat reads the temperatures. The highest one counts.
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
		s.temperature.update(top, now, true)
	case zones == 0:
		s.temperature.clearSystem()
	}
}

// list lists the names in a system folder. A missing folder is empty; ok is false if
// reading failed.
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

// value reads the single short line of a system file, or "" on failure; drivers fail in
// many ways.
func value(sys fs.FS, name string) string {
	const most = 64
	f, err := sys.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // read-only
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil || len(b) > most {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// number parses an integer between low and high.
func number(text string, low, high int64) (float64, bool) {
	n, err := strconv.ParseInt(text, 10, 64)
	return float64(n), err == nil && n >= low && n <= high
}
