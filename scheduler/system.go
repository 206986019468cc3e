package scheduler

import (
	"io/fs"
	"time"
)

// System is what a machine's own files say of its power.
type System struct {
	Device
	HasBattery bool   // of the machine; that of a mouse or a UPS is none
	Energy     Energy // its source, and why
}

// ReadSystem reads the files (Linux's /sys) as a Scheduler does.
func ReadSystem(sys fs.FS, now func() time.Time) System {
	s := newSensor(sys, Default().Device, now)
	s.refresh(now())
	out := System{Device: s.known(now()), HasBattery: s.hasBattery}
	out.Energy.Source, out.Energy.Why = s.energy.why()
	return out
}
