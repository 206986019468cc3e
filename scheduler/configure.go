package scheduler

import "github.com/percached/percached/internal/base/fault"

// Configure changes the configuration from now on. What is due is looked for
// anew; a job that runs goes on until it is next held against the rules. Windows that
// are others have a budget of their own. If the configuration is wrong, nothing
// changes.
func (s *Scheduler) Configure(c Config) error {
	const op = "scheduler.Configure"
	if err := c.Validate(); err != nil {
		return fault.New(fault.Invalid, op, "%w", err)
	}
	windows, err := newWindows(c.Windows, c.Zone)
	if err != nil {
		return fault.New(fault.Invalid, op, "%w", err)
	}
	s.outside.Lock()
	s.windows, s.sensor.rules = windows, c.Device
	s.config.Store(&c) // here, so that of two calls one wins whole
	s.outside.Unlock()
	s.lookAnew(nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ring()
	return nil
}

// Config is the configuration that holds now.
func (s *Scheduler) Config() Config { return *s.config.Load() }
