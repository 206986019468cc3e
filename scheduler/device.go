package scheduler

import (
	"fmt"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// A temperature outside this range, in °C, is a sensor fault.
const coldest, hottest = -50, 150

// Device is the known state of the device.
type Device struct {
	Charging    *bool    `json:"charging,omitempty"`
	Battery     *float64 `json:"battery,omitempty"`     // 0 (empty) to 1 (full)
	Temperature *float64 `json:"temperature,omitempty"` // °C
	// At is the time of the state; if the values have different times, the oldest.
	At time.Time `json:"at,omitzero"`
}

// validate refuses impossible values. It accepts future times, because the sender's clock
// may be ahead; see sensor.clampToNow.
func (d Device) validate() error {
	const op = "device state"
	switch {
	case d.At.IsZero():
		return fault.New(fault.Invalid, op, "the device state has no time")
	case d.Charging == nil && d.Battery == nil && d.Temperature == nil:
		return fault.New(fault.Invalid, op, "the device state has no values")
	case d.Battery != nil && !(*d.Battery >= 0 && *d.Battery <= 1):
		return fault.New(fault.Invalid, op, "invalid battery level %v: use 0 (empty) to 1 (full)", *d.Battery)
	case d.Temperature != nil && !(*d.Temperature >= coldest && *d.Temperature <= hottest):
		return fault.New(fault.Invalid, op, "invalid temperature %v °C: it is not between %d and %d", *d.Temperature, coldest, hottest)
	}
	return nil
}

// fact is one known value of the device. The newer of two facts wins; at equal times, the
// one that arrived last.
type fact[T any] struct {
	value  T
	at     time.Time
	known  bool
	system bool // read from the system, not posted
}

func (f *fact[T]) update(value T, at time.Time, system bool) {
	at = at.Round(0) // wall clock only: a fact also ages while the device sleeps
	if !f.known || !at.Before(f.at) {
		*f = fact[T]{value: value, at: at, known: true, system: system}
	}
}

// clearSystem removes a value that the system no longer reports.
func (f *fact[T]) clearSystem() {
	if f.system {
		*f = fact[T]{}
	}
}

// forget removes a value that nobody has reported for long. Otherwise an app that stopped
// reporting would stop idle work for ever.
func (f *fact[T]) forget(now time.Time, r Rules) {
	if f.known && now.Sub(f.at) > r.ForgetAfter {
		*f = fact[T]{}
	}
}

// clampToNow sets a future time to now.
func (f *fact[T]) clampToNow(now time.Time) {
	if f.known && f.at.After(now) {
		f.at = now.Round(0)
	}
}

func (f *fact[T]) fresh(now time.Time, r Rules) bool {
	return f.known && now.Sub(f.at) <= r.StaleAfter
}

func (f *fact[T]) stale(now time.Time, r Rules) bool {
	return f.known && !f.fresh(now, r)
}

// copyTo copies the value and lowers *at to its time.
func (f *fact[T]) copyTo(value **T, at *time.Time) {
	if !f.known {
		return
	}
	v := f.value
	*value = &v
	if at.IsZero() || f.at.Before(*at) {
		*at = f.at
	}
}

// reasons lists the device's reasons against idle work. Idle work needs power (charging,
// or a battery above the minimum if the rules allow one) and a temperature below the
// maximum. A stale value forbids idle work unless another value decides: fresh charging is
// enough. A machine with a battery that does not say whether it charges counts as running
// on it; one that reports nothing, and has no battery, counts as powered and cool.
func (s *sensor) reasons(now time.Time) []Reason {
	s.clampToNow(now)
	r := s.rules
	var reasons []Reason
	var stale []string
	if !s.powered(now) {
		if s.charging.stale(now, r) {
			stale = append(stale, "charging")
		}
		if s.battery.stale(now, r) {
			stale = append(stale, "battery")
		}
		if stale == nil {
			text := "the device is not charging, and its battery level is unknown"
			switch {
			case r.ChargingOnly && s.charging.known:
				text = "the device runs on its battery, and idle work waits until it is charging"
			case r.ChargingOnly:
				text = "the device has a battery and does not say whether it is charging, and idle work waits until it is"
			case s.battery.known:
				text = fmt.Sprintf("the battery is at %.0f %%, below the minimum of %.0f %%, and not known to be charging", 100*s.battery.value, 100*r.MinBattery)
			}
			reasons = append(reasons, Reason{Code: ReasonBattery, Text: text})
		}
	}
	switch t := &s.temperature; {
	case t.stale(now, r):
		stale = append(stale, "temperature")
	case t.known && t.value > r.MaxTemperature:
		text := fmt.Sprintf("the device is at %.0f °C, above the maximum of %.0f °C", t.value, r.MaxTemperature)
		reasons = append(reasons, Reason{Code: ReasonHot, Text: text})
	}
	if stale != nil {
		text := fmt.Sprintf("the device state is older than %v: %s", r.StaleAfter, strings.Join(stale, ", "))
		reasons = append(reasons, Reason{Code: ReasonDeviceStale, Text: text})
	}
	return reasons
}

// powered reports whether the device has enough power, as far as is known. A minimum
// level of zero is always met.
func (s *sensor) powered(now time.Time) bool {
	switch r := s.rules; {
	case !s.hasBattery && !s.charging.known && !s.battery.known:
		return true
	case s.charging.fresh(now, r) && s.charging.value:
		return true
	case r.ChargingOnly && !s.silentUPS():
		return false
	case s.battery.fresh(now, r) && s.battery.value >= r.MinBattery:
		return true
	case !s.battery.known && (s.charging.fresh(now, r) || !s.charging.known):
		return r.MinBattery == 0
	}
	return false
}

// silentUPS reports whether all that is known of power is the level of a UPS. It may never
// say that it charges, so its level decides.
func (s *sensor) silentUPS() bool {
	return !s.hasBattery && !s.charging.known && s.battery.system
}
