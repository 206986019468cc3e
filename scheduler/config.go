package scheduler

import (
	"errors"
	"fmt"
	"time"
)

// Config says when idle work is done and what it may cost. Start from Default;
// zero means zero.
type Config struct {
	// IdleAfter is how long no request of the user must have run.
	IdleAfter time.Duration
	// Windows are the times for idle work; none: always.
	Windows []Window
	// Zone is the time zone of windows that name none, and of days.
	Zone *time.Location
	// Budget is for one window; without windows for a day of Zone.
	Budget Budget
	Device Rules
	Retry  Retry
	// Cutoff is the similarity threshold above which predicted questions are
	// prefilled but not decoded.
	Cutoff float64
	Pay    Pay
}

// Window is a time for idle work that comes again and again.
type Window struct {
	// Cron says when it opens: minute, hour, day of month, month, day of week,
	// or @daily and the like. CRON_TZ=Europe/Berlin and a space may stand before it.
	Cron string
	// Length is how long it stays open.
	Length time.Duration
}

// MaxLength is the longest that a window may be.
const MaxLength = 7 * 24 * time.Hour

// Budget is the most that idle work may cost in one window.
type Budget struct {
	Compute   time.Duration `json:"compute_ns"`
	Questions int           `json:"questions"` // predicted or answered
	Written   int64         `json:"bytes_written"`
}

// Rules say in which state of the device there is idle work.
type Rules struct {
	MinBattery     float64       // of full, 0 to 1, where it is not charging
	MaxTemperature float64       // °C
	StaleAfter     time.Duration // what was known longer ago is not believed any more
	ReadEvery      time.Duration // how often the system is asked
}

// Retry says when a job that failed is tried again: after First, then after
// twice as long each time, up to Longest. After so many Attempts it is parked.
type Retry struct {
	First, Longest time.Duration
	Attempts       int
}

// Pay says when prediction slows down and stops.
type Pay struct {
	// Horizon is how far back costs and earnings are held against each other.
	Horizon time.Duration
	// Trial is the compute that prediction may cost before it must have earned.
	Trial time.Duration
	// Worth is how many seconds of idle compute a second is worth that a person
	// need not wait.
	Worth float64
}

// Default has no windows, and the time zone of the machine.
func Default() Config {
	return Config{
		IdleAfter: 30 * time.Second,
		Zone:      time.Local,
		Budget:    Budget{Compute: time.Hour, Questions: 500, Written: 1 << 30},
		Device:    Rules{MinBattery: 0.4, MaxTemperature: 70, StaleAfter: 10 * time.Minute, ReadEvery: 30 * time.Second},
		Retry:     Retry{First: time.Minute, Longest: 6 * time.Hour, Attempts: 5},
		Cutoff:    0.88,
		Pay:       Pay{Horizon: 14 * 24 * time.Hour, Trial: 10 * time.Minute, Worth: 10},
	}
}

// Validate joins all that is wrong.
func (c Config) Validate() error {
	var errs []error
	fail := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	// Written so that NaN is outside of everything.
	outside := func(x, low, high float64) bool { return !(x >= low && x <= high) }

	fail(c.IdleAfter < 0, "idle work would begin %v after a request", c.IdleAfter)
	for _, w := range c.Windows {
		if _, err := w.rhythm(c.Zone); err != nil {
			errs = append(errs, err)
		}
	}
	fail(c.Zone == nil, "there is no time zone")
	fail(c.Budget.Compute < 0, "a budget of %v of compute", c.Budget.Compute)
	fail(c.Budget.Questions < 0, "a budget of %d questions", c.Budget.Questions)
	fail(c.Budget.Written < 0, "a budget of %d bytes", c.Budget.Written)
	d := c.Device
	fail(outside(d.MinBattery, 0, 1), "the battery must be at %v: 0 is empty, 1 is full", d.MinBattery)
	fail(outside(d.MaxTemperature, coldest, hottest), "the device may be as warm as %v °C", d.MaxTemperature)
	fail(d.StaleAfter < 0, "the device's state is stale after %v", d.StaleAfter)
	fail(d.ReadEvery < 0, "the device's state is read every %v", d.ReadEvery)
	fail(d.ReadEvery > d.StaleAfter, "the device's state is read every %v, but stale after %v", d.ReadEvery, d.StaleAfter)
	fail(c.Retry.First < 0, "a job that failed is tried again after %v", c.Retry.First)
	fail(c.Retry.Longest < c.Retry.First, "the longest back-off, %v, is below the first, %v", c.Retry.Longest, c.Retry.First)
	fail(c.Retry.Attempts < 1, "a job is parked after %d attempts", c.Retry.Attempts)
	fail(outside(c.Cutoff, 0, 1), "a cut-off of %v: similarities are from 0 to 1", c.Cutoff)
	fail(c.Pay.Horizon < 0, "a horizon of %v", c.Pay.Horizon)
	fail(c.Pay.Trial < 0, "a trial of %v", c.Pay.Trial)
	fail(outside(c.Pay.Worth, 0, 1e9), "a second of waiting is worth %v of compute", c.Pay.Worth)
	return errors.Join(errs...)
}
