package scheduler

import (
	"errors"
	"fmt"
	"time"

	"github.com/percached/percached/internal/base/fault"
)

// Config says when idle work runs and what it may cost. Start from Default; a zero value
// means zero, not a default.
type Config struct {
	// IdleAfter is the time without user requests before idle work starts.
	IdleAfter time.Duration
	// Windows are the times when idle work is allowed. An empty list allows it always.
	Windows []Window
	// Zone is the time zone of windows that name none, and of calendar days.
	Zone *time.Location
	// Budget limits one window. Without windows it limits one day of Zone.
	Budget Budget
	Device Rules
	Retry  Retry
	// Cutoff is the similarity threshold above which predicted questions are prefilled
	// but not decoded.
	Cutoff float64
	Pay    Pay
}

// Window is a recurring time for idle work.
type Window struct {
	// Cron is the opening time in cron syntax: minute, hour, day of month, month, day of
	// week, or @daily and the like. A prefix "CRON_TZ=Europe/Berlin " sets its time zone.
	Cron string
	// Length is how long the window stays open.
	Length time.Duration
}

// MaxLength is the maximum length of a window.
const MaxLength = 7 * 24 * time.Hour

// Budget is the maximum cost of idle work in one window.
type Budget struct {
	Compute   time.Duration `json:"compute_ns"`
	Questions int           `json:"questions"` // predicted or answered
	Written   int64         `json:"bytes_written"`
}

// Rules are the device states in which idle work is allowed.
type Rules struct {
	ChargingOnly   bool          // a device with a battery must be charging
	MinBattery     float64       // without ChargingOnly, minimum battery level (0 to 1) while not charging
	MaxTemperature float64       // maximum temperature in °C
	StaleAfter     time.Duration // age at which a device state is no longer trusted
	ForgetAfter    time.Duration // age at which it is forgotten, as if nobody had reported it
	ReadEvery      time.Duration // interval between reads of the system's files
}

// Retry is the back-off of failed jobs. The scheduler retries a job after First and
// doubles the delay each time, up to Longest. After Attempts failures it parks the job.
type Retry struct {
	First, Longest time.Duration
	Attempts       int
}

// Pay says when prediction slows down and stops.
type Pay struct {
	// Horizon is the period over which costs and earnings are compared.
	Horizon time.Duration
	// Trial is the compute that prediction may use before it must have earned anything.
	Trial time.Duration
	// Worth is how many seconds of idle compute one second of saved waiting is worth.
	Worth float64
}

// Default has no windows and uses the machine's time zone.
func Default() Config {
	return Config{
		IdleAfter: 30 * time.Second,
		Zone:      time.Local,
		Budget:    Budget{Compute: time.Hour, Questions: 500, Written: 1 << 30},
		Device: Rules{
			ChargingOnly: true, MinBattery: 0.4, MaxTemperature: 70, StaleAfter: 10 * time.Minute, ForgetAfter: 24 * time.Hour, ReadEvery: 30 * time.Second,
		},
		Retry:  Retry{First: time.Minute, Longest: 6 * time.Hour, Attempts: 5},
		Cutoff: 0.88,
		Pay:    Pay{Horizon: 14 * 24 * time.Hour, Trial: 2 * time.Minute, Worth: 10},
	}
}

// Validate reports all faults together.
func (c Config) Validate() error {
	var errs []error
	fail := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	// NaN counts as outside.
	outside := func(x, low, high float64) bool { return !(x >= low && x <= high) }

	fail(c.IdleAfter < 0, "invalid idle delay %v: it is negative", c.IdleAfter)
	for _, w := range c.Windows {
		if _, err := w.rhythm(c.Zone); err != nil {
			errs = append(errs, err)
		}
	}
	fail(c.Zone == nil, "missing time zone")
	fail(c.Budget.Compute < 0, "invalid compute budget %v: it is negative", c.Budget.Compute)
	fail(c.Budget.Questions < 0, "invalid budget of %d questions: it is negative", c.Budget.Questions)
	fail(c.Budget.Written < 0, "invalid budget of %d bytes: it is negative", c.Budget.Written)
	d := c.Device
	fail(outside(d.MinBattery, 0, 1), "invalid minimum battery level %v: use 0 (empty) to 1 (full)", d.MinBattery)
	fail(outside(d.MaxTemperature, coldest, hottest), "invalid maximum temperature %v °C", d.MaxTemperature)
	fail(d.StaleAfter < 0, "invalid maximum age of the device state %v: it is negative", d.StaleAfter)
	fail(d.ForgetAfter < d.StaleAfter, "the device state is forgotten after %v, before its maximum age of %v", d.ForgetAfter, d.StaleAfter)
	fail(d.ReadEvery < 0, "invalid device read interval %v: it is negative", d.ReadEvery)
	fail(d.ReadEvery > d.StaleAfter, "device read interval %v is longer than the maximum age of the device state, %v", d.ReadEvery, d.StaleAfter)
	fail(c.Retry.First < 0, "invalid first retry delay %v: it is negative", c.Retry.First)
	fail(c.Retry.Longest < c.Retry.First, "the longest retry delay, %v, is below the first, %v", c.Retry.Longest, c.Retry.First)
	fail(c.Retry.Attempts < 1, "invalid number of attempts %d: use at least 1", c.Retry.Attempts)
	fail(outside(c.Cutoff, 0, 1), "invalid cutoff %v: similarities are between 0 and 1", c.Cutoff)
	fail(c.Pay.Horizon < 0, "invalid horizon %v: it is negative", c.Pay.Horizon)
	fail(c.Pay.Trial < 0, "invalid trial %v: it is negative", c.Pay.Trial)
	fail(outside(c.Pay.Worth, 0, 1e9), "invalid worth %v of a saved second: use 0 to 1e9", c.Pay.Worth)
	return errors.Join(errs...)
}

// Configure replaces the configuration and scans for due work again. A running job
// continues until its next check against the rules. Different windows get their own
// budget. An invalid configuration changes nothing.
func (s *Scheduler) Configure(c Config) error {
	const op = "scheduler.Configure"
	if err := c.Validate(); err != nil {
		return fault.New(fault.Invalid, op, "%w", err)
	}
	windows, err := newWindows(c.Windows, c.Zone)
	if err != nil {
		return fault.New(fault.Invalid, op, "%w", err)
	}
	s.envLock.Lock()
	s.windows, s.sensor.rules = windows, c.Device
	s.config.Store(&c) // inside the lock, so that one of two concurrent calls wins completely
	s.envLock.Unlock()
	s.rescanAll(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notify()
	return nil
}

// Config returns the current configuration.
func (s *Scheduler) Config() Config { return *s.config.Load() }

// Population is how far idle work prepares a predicted question.
type Population uint8

// The two ways to populate.
const (
	Full        Population = iota // prefill and decode: the entry gets an answer
	PrefillOnly                   // prefill only: the entry has tensors but no answer
)

func (p Population) String() string {
	switch p {
	case Full:
		return "full"
	case PrefillOnly:
		return "prefill_only"
	}
	return fmt.Sprint(uint8(p))
}

// MarshalText returns the name.
func (p Population) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// Population returns how far to prepare predicted questions in a space with this
// similarity threshold. Above the cutoff few questions are close enough to a predicted
// one to be answered from it, so decoding would be wasted, while the tensors help any
// question about the same chunks. A space that is not adaptive always gets both.
func (c Config) Population(threshold float64, adaptive bool) Population {
	if adaptive && threshold > c.Cutoff {
		return PrefillOnly
	}
	return Full
}

// CutoffAbove returns the cutoff for a service's similarity threshold: one eighth of the
// way from the threshold to 1, which works on any embedding model's scale. So a service
// decodes predicted questions, but a space with a much higher threshold of its own does
// not.
func CutoffAbove(threshold float64) float64 { return threshold + (1-threshold)/8 }

// Decodes reports whether entries without an answer are decoded now, in a space with this
// similarity threshold and conversion setting.
func (c Config) Decodes(threshold float64, conversion bool) bool {
	return conversion && threshold <= c.Cutoff
}
