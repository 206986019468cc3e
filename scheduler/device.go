package scheduler

import (
	"fmt"
	"strings"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// Temperatures outside these, in °C, are not of a device that works.
const coldest, hottest = -50, 150

// Device is the state of the device, as far as it is known.
type Device struct {
	Charging    *bool    `json:"charging,omitempty"`
	Battery     *float64 `json:"battery,omitempty"`     // of full, 0 to 1
	Temperature *float64 `json:"temperature,omitempty"` // °C
	// At is when it was so; of facts from several times, the oldest.
	At time.Time `json:"at,omitzero"`
}

// validate refuses what cannot be. A time to come is let pass: the sender's
// clock may be ahead, see sensor.settle.
func (d Device) validate() error {
	const op = "device state"
	switch {
	case d.At.IsZero():
		return fault.New(fault.Invalid, op, "it does not say of when it is")
	case d.Charging == nil && d.Battery == nil && d.Temperature == nil:
		return fault.New(fault.Invalid, op, "it says nothing")
	case d.Battery != nil && !(*d.Battery >= 0 && *d.Battery <= 1):
		return fault.New(fault.Invalid, op, "the battery is at %v: 0 is empty, 1 is full", *d.Battery)
	case d.Temperature != nil && !(*d.Temperature >= coldest && *d.Temperature <= hottest):
		return fault.New(fault.Invalid, op, "the temperature is %v °C, which is not between %d and %d", *d.Temperature, coldest, hottest)
	}
	return nil
}

// fact is one thing known of the device. Of two the newer stands; of two from
// the same time, the one that came last.
type fact[T any] struct {
	value  T
	at     time.Time
	known  bool
	system bool // read from the system, not posted
}

func (f *fact[T]) take(value T, at time.Time, system bool) {
	at = at.Round(0) // a fact ages while the device sleeps, too
	if !f.known || !at.Before(f.at) {
		*f = fact[T]{value: value, at: at, known: true, system: system}
	}
}

// gone forgets what the system told and does not have any more.
func (f *fact[T]) gone() {
	if f.system {
		*f = fact[T]{}
	}
}

// settle makes a fact from the future one of now.
func (f *fact[T]) settle(now time.Time) {
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

// into copies the fact out and moves *at back to its time.
func (f *fact[T]) into(value **T, at *time.Time) {
	if !f.known {
		return
	}
	v := f.value
	*value = &v
	if at.IsZero() || f.at.Before(*at) {
		*at = f.at
	}
}

// forbids lists the device's reasons against idle work. It is allowed where the
// device is charging or the battery is above the floor, and no sensor says hot.
// A fact that is stale forbids, unless it does not matter: a fresh level
// above the floor is enough whoever charges, and charging is enough at any level.
// A machine of which nothing is known runs on mains and is cool.
func (s *sensor) forbids(now time.Time) []Reason {
	s.settle(now)
	r := s.rules
	var reasons []Reason
	var stale []string
	if !s.powered(now) {
		if s.charging.stale(now, r) {
			stale = append(stale, "whether it is charging")
		}
		if s.battery.stale(now, r) {
			stale = append(stale, "its battery")
		}
		if stale == nil {
			text := "it is not charging, and nothing is known of the battery"
			if s.battery.known {
				text = fmt.Sprintf("the battery is at %.0f %%, which is below %.0f %%, and it is not known to be charging", 100*s.battery.value, 100*r.MinBattery)
			}
			reasons = append(reasons, Reason{Code: ReasonBattery, Text: text})
		}
	}
	switch t := &s.temperature; {
	case t.stale(now, r):
		stale = append(stale, "its temperature")
	case t.known && t.value > r.MaxTemperature:
		text := fmt.Sprintf("the device is at %.0f °C, which is above %.0f °C", t.value, r.MaxTemperature)
		reasons = append(reasons, Reason{Code: ReasonHot, Text: text})
	}
	if stale != nil {
		text := fmt.Sprintf("for more than %v the device has not told %s", r.StaleAfter, strings.Join(stale, ", "))
		reasons = append(reasons, Reason{Code: ReasonDeviceStale, Text: text})
	}
	return reasons
}

// powered says whether there is power enough, as far as is known. A floor of
// zero asks for none.
func (s *sensor) powered(now time.Time) bool {
	switch r := s.rules; {
	case !s.charging.known && !s.battery.known:
		return true
	case s.charging.fresh(now, r) && s.charging.value:
		return true
	case s.battery.fresh(now, r) && s.battery.value >= r.MinBattery:
		return true
	case s.charging.fresh(now, r) && !s.battery.known:
		return r.MinBattery == 0
	}
	return false
}
