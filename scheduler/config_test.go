package scheduler

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestDefaultIsValid(t *testing.T) {
	if err := Default().Validate(); err != nil {
		t.Error(err)
	}
}

// Zero means zero: a configuration that allows nothing is valid.
func TestZeroIsValid(t *testing.T) {
	c := Config{Zone: time.UTC, Retry: Retry{Attempts: 1}}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

// Validate reports every mistake, whatever else is wrong.
func TestValidate(t *testing.T) {
	nan := math.NaN()
	mistakes := []struct {
		text string
		make func(c *Config)
	}{
		{"idle delay -1s", func(c *Config) { c.IdleAfter = -time.Second }},
		{"time zone", func(c *Config) { c.Zone = nil }},
		{`window "0 25 * * *"`, func(c *Config) { c.Windows = append(c.Windows, Window{"0 25 * * *", time.Hour}) }},
		{`window "0 1 * * *": invalid length 0s`, func(c *Config) { c.Windows = append(c.Windows, Window{"0 1 * * *", 0}) }},
		{`window "0 2 * * *": invalid length 168h0m1s`, func(c *Config) { c.Windows = append(c.Windows, Window{"0 2 * * *", MaxLength + time.Second}) }},
		{`window "0 0 30 2 *": it never opens`, func(c *Config) { c.Windows = append(c.Windows, Window{"0 0 30 2 *", time.Hour}) }},
		{"compute budget -1m0s", func(c *Config) { c.Budget.Compute = -time.Minute }},
		{"-2 questions", func(c *Config) { c.Budget.Questions = -2 }},
		{"-3 bytes", func(c *Config) { c.Budget.Written = -3 }},
		{"battery level NaN", func(c *Config) { c.Device.MinBattery = nan }},
		{"temperature +Inf", func(c *Config) { c.Device.MaxTemperature = math.Inf(1) }},
		{"maximum age of the device state -1s", func(c *Config) { c.Device.StaleAfter = -time.Second }},
		{"read interval 1s", func(c *Config) { c.Device.ReadEvery = time.Second }},
		{"first retry delay -1s", func(c *Config) { c.Retry.First = -time.Second }},
		{"longest retry delay, -2s", func(c *Config) { c.Retry.Longest = -2 * time.Second }},
		{"attempts 0", func(c *Config) { c.Retry.Attempts = 0 }},
		{"cutoff NaN", func(c *Config) { c.Cutoff = nan }},
		{"horizon -1s", func(c *Config) { c.Pay.Horizon = -time.Second }},
		{"trial -1s", func(c *Config) { c.Pay.Trial = -time.Second }},
		{"worth -1", func(c *Config) { c.Pay.Worth = -1 }},
	}
	c := Default()
	for _, m := range mistakes {
		m.make(&c)
	}
	err := c.Validate()
	if err == nil {
		t.Fatal("nothing is wrong")
	}
	for _, m := range mistakes {
		if !strings.Contains(err.Error(), m.text) {
			t.Errorf("missing: %s", m.text)
		}
	}
	if got := strings.Count(err.Error(), "\n") + 1; got != len(mistakes) {
		t.Errorf("%d mistakes are told as %d:\n%v", len(mistakes), got, err)
	}
}
