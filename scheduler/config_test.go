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

// Zero means zero: a config that allows nothing is no mistake.
func TestZeroIsValid(t *testing.T) {
	c := Config{Zone: time.UTC, Retry: Retry{Attempts: 1}}
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
}

// Each mistake is told, whatever else is wrong.
func TestValidate(t *testing.T) {
	nan := math.NaN()
	mistakes := []struct {
		text string
		make func(c *Config)
	}{
		{"begin -1s after a request", func(c *Config) { c.IdleAfter = -time.Second }},
		{"there is no time zone", func(c *Config) { c.Zone = nil }},
		{`window "0 25 * * *"`, func(c *Config) { c.Windows = append(c.Windows, Window{"0 25 * * *", time.Hour}) }},
		{`window "0 1 * * *": it is open for 0s`, func(c *Config) { c.Windows = append(c.Windows, Window{"0 1 * * *", 0}) }},
		{`window "0 2 * * *": it is open for 168h0m1s`, func(c *Config) { c.Windows = append(c.Windows, Window{"0 2 * * *", MaxLength + time.Second}) }},
		{`window "0 0 30 2 *": it never opens`, func(c *Config) { c.Windows = append(c.Windows, Window{"0 0 30 2 *", time.Hour}) }},
		{"-1m0s of compute", func(c *Config) { c.Budget.Compute = -time.Minute }},
		{"-2 questions", func(c *Config) { c.Budget.Questions = -2 }},
		{"-3 bytes", func(c *Config) { c.Budget.Written = -3 }},
		{"the battery must be at NaN", func(c *Config) { c.Device.MinBattery = nan }},
		{"as warm as +Inf °C", func(c *Config) { c.Device.MaxTemperature = math.Inf(1) }},
		{"is stale after -1s", func(c *Config) { c.Device.StaleAfter = -time.Second }},
		{"is read every 1s, but stale after -1s", func(c *Config) { c.Device.ReadEvery = time.Second }},
		{"tried again after -1s", func(c *Config) { c.Retry.First = -time.Second }},
		{"the longest back-off, -2s, is below the first", func(c *Config) { c.Retry.Longest = -2 * time.Second }},
		{"parked after 0 attempts", func(c *Config) { c.Retry.Attempts = 0 }},
		{"a cut-off of NaN", func(c *Config) { c.Cutoff = nan }},
		{"a horizon of -1s", func(c *Config) { c.Pay.Horizon = -time.Second }},
		{"a trial of -1s", func(c *Config) { c.Pay.Trial = -time.Second }},
		{"a second of waiting is worth -1 of compute", func(c *Config) { c.Pay.Worth = -1 }},
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
			t.Errorf("not told: %s", m.text)
		}
	}
	if got := strings.Count(err.Error(), "\n") + 1; got != len(mistakes) {
		t.Errorf("%d mistakes are told as %d:\n%v", len(mistakes), got, err)
	}
}
