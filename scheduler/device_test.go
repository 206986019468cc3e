package scheduler

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/internal/base/fault"
)

func codes(reasons []Reason) []string {
	var all []string
	for _, r := range reasons {
		all = append(all, r.Code)
	}
	return all
}

// A state posted at noon allows or forbids idle work then and later.
func TestForbids(t *testing.T) {
	yes, no := new(true), new(false)
	rules := Default().Device
	rules.ChargingOnly = false
	only := func(r *Rules) { r.ChargingOnly = true }
	for name, tt := range map[string]struct {
		rules func(r *Rules)
		post  []Device
		after time.Duration
		want  []string
	}{
		"nothing known":                     {},
		"only while charging":               {rules: only, post: []Device{device(yes, new(0.01), nil, noon())}},
		"full, not charging":                {rules: only, post: []Device{device(no, new(1.0), nil, noon())}, want: []string{ReasonBattery}},
		"full, charging unknown":            {rules: only, post: []Device{device(nil, new(1.0), nil, noon())}, want: []string{ReasonBattery}},
		"charging unknown, without a floor": {rules: func(r *Rules) { r.ChargingOnly, r.MinBattery = true, 0 }, post: []Device{device(nil, new(1.0), nil, noon())}, want: []string{ReasonBattery}},
		"no report for a day":               {rules: only, post: []Device{device(no, new(0.1), new(90.0), noon())}, after: rules.ForgetAfter, want: []string{ReasonDeviceStale}},
		"no report for more than a day":     {rules: only, post: []Device{device(no, new(0.1), new(90.0), noon())}, after: rules.ForgetAfter + 1},
		"charging at any level":             {post: []Device{device(yes, new(0.01), nil, noon())}},
		"above the floor":                   {post: []Device{device(no, new(0.4), nil, noon())}},
		"below the floor":                   {post: []Device{device(no, new(0.39), nil, noon())}, want: []string{ReasonBattery}},
		"below, charging unknown":           {post: []Device{device(nil, new(0.39), nil, noon())}, want: []string{ReasonBattery}},
		"not charging, level unknown":       {post: []Device{device(no, nil, nil, noon())}, want: []string{ReasonBattery}},
		"no floor":                          {rules: func(r *Rules) { r.MinBattery = 0 }, post: []Device{device(no, new(0.0), nil, noon())}},
		"no floor, level unknown":           {rules: func(r *Rules) { r.MinBattery = 0 }, post: []Device{device(no, nil, nil, noon())}},
		"warm":                              {post: []Device{device(nil, nil, new(70.0), noon())}},
		"hot":                               {post: []Device{device(nil, nil, new(70.5), noon())}, want: []string{ReasonHot}},
		"hot and low":                       {post: []Device{device(no, new(0.1), new(90.0), noon())}, want: []string{ReasonBattery, ReasonHot}},
		"just not stale":                    {post: []Device{device(no, new(0.9), new(20.0), noon())}, after: rules.StaleAfter},
		"stale":                             {post: []Device{device(no, new(0.9), new(20.0), noon())}, after: rules.StaleAfter + 1, want: []string{ReasonDeviceStale}},
		"stale heat":                        {post: []Device{device(nil, nil, new(90.0), noon())}, after: time.Hour, want: []string{ReasonDeviceStale}},
		"low, and the heat is stale":        {post: []Device{device(nil, nil, new(20.0), noon()), device(no, new(0.1), nil, noon().Add(time.Hour))}, after: time.Hour, want: []string{ReasonBattery, ReasonDeviceStale}},
		"charging, and the level is stale":  {post: []Device{device(nil, new(0.1), nil, noon()), device(yes, nil, nil, noon().Add(time.Hour))}, after: time.Hour},
		"level, and the charging is stale":  {post: []Device{device(yes, nil, nil, noon()), device(nil, new(0.5), nil, noon().Add(time.Hour))}, after: time.Hour},
		"low, and the charging is stale":    {post: []Device{device(yes, nil, nil, noon()), device(nil, new(0.1), nil, noon().Add(time.Hour))}, after: time.Hour, want: []string{ReasonDeviceStale}},
		"the newest wins, field by field":   {post: []Device{device(yes, new(0.1), nil, noon()), device(no, nil, nil, noon().Add(-time.Second))}},
		"the newest wins, in any order":     {post: []Device{device(no, new(0.1), nil, noon().Add(-time.Second)), device(yes, nil, nil, noon())}},
		"a clock ahead is taken as now":     {post: []Device{device(yes, nil, nil, noon().Add(24*time.Hour))}},
		"the last of one time wins":         {post: []Device{device(no, new(0.1), nil, noon()), device(yes, nil, nil, noon())}},
		"zero means zero, also for staying": {rules: func(r *Rules) { r.StaleAfter = 0 }, post: []Device{device(yes, nil, nil, noon())}, after: 1, want: []string{ReasonDeviceStale}},
	} {
		t.Run(name, func(t *testing.T) {
			r := rules
			if tt.rules != nil {
				tt.rules(&r)
			}
			s := newSensor(nil, r, noon)
			for _, d := range tt.post {
				if err := s.post(d); err != nil {
					t.Fatal(err)
				}
			}
			reasons := s.reasons(noon().Add(tt.after))
			if diff := cmp.Diff(tt.want, codes(reasons)); diff != "" {
				t.Errorf("%v\n%s", reasons, diff)
			}
		})
	}
}

// A state with a future time ages from when it was first read, and a later one replaces
// it.
func TestFuture(t *testing.T) {
	s := newSensor(nil, Default().Device, noon)
	if err := s.post(device(new(true), nil, nil, noon().Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	if got := s.known(noon()); !got.At.Equal(noon()) {
		t.Errorf("known as of %v", got.At)
	}
	if got := codes(s.reasons(noon().Add(11 * time.Minute))); !cmp.Equal(got, []string{ReasonDeviceStale}) {
		t.Errorf("later: %v", got)
	}
	if err := s.post(device(new(false), new(0.1), nil, noon().Add(time.Minute))); err != nil {
		t.Fatal(err)
	}
	if got := codes(s.reasons(noon().Add(time.Minute))); !cmp.Equal(got, []string{ReasonBattery}) {
		t.Errorf("a newer one does not count: %v", got)
	}
}

// A battery that does not say whether it charges counts as discharging; a peripheral's
// battery does not count.
func TestUnknownCountsAsBattery(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		only  bool
		floor float64
		want  []string
	}{
		"no battery":                  {map[string]string{"power_supply/AC": "type=Mains,online=0"}, true, 0.4, nil},
		"a mouse's":                   {map[string]string{"power_supply/hid": "type=Battery,scope=Device,status=Unknown"}, true, 0.4, nil},
		"says nothing":                {map[string]string{"power_supply/BAT0": "type=Battery,status=Unknown"}, true, 0.4, []string{ReasonBattery}},
		"says nothing, but the cable": {map[string]string{"power_supply/BAT0": "type=Battery,status=Unknown", "power_supply/AC": "type=Mains,online=1"}, true, 0.4, nil},
		"its level alone":             {map[string]string{"power_supply/BAT0": "type=Battery,capacity=90"}, true, 0.4, []string{ReasonBattery}},
		"its level, which is enough":  {map[string]string{"power_supply/BAT0": "type=Battery,capacity=90"}, false, 0.4, nil},
		"a UPS's level alone":         {map[string]string{"power_supply/ups": "type=UPS,capacity=90"}, true, 0.4, nil},
		"a UPS's level, which is low": {map[string]string{"power_supply/ups": "type=UPS,capacity=30"}, true, 0.4, []string{ReasonBattery}},
		"a UPS that is used":          {map[string]string{"power_supply/ups": "type=UPS,status=Discharging,capacity=90"}, true, 0.4, []string{ReasonBattery}},
		"nothing, and a level wanted": {map[string]string{"power_supply/BAT0": "type=Battery,status=Unknown"}, false, 0.4, []string{ReasonBattery}},
		"nothing, and none wanted":    {map[string]string{"power_supply/BAT0": "type=Battery,status=Unknown"}, false, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := Default().Device
			r.ChargingOnly, r.MinBattery = tt.only, tt.floor
			s := newSensor(tree(tt.files), r, noon)
			s.refresh(noon())
			if d := cmp.Diff(tt.want, codes(s.reasons(noon()))); d != "" {
				t.Error(d)
			}
		})
	}
}

// The newest of posted and system values wins.
func TestPostAgainstSystem(t *testing.T) {
	sys := tree(map[string]string{"power_supply/BAT0": "type=Battery,status=Discharging,capacity=20"})
	s := newSensor(sys, Default().Device, noon)
	low := []string{ReasonBattery}
	check := func(when string, at time.Time, want []string) {
		t.Helper()
		if diff := cmp.Diff(want, codes(s.reasons(at))); diff != "" {
			t.Errorf("%s: %s", when, diff)
		}
	}
	at := noon()
	s.refresh(at)
	check("the system's", at, low)
	if err := s.post(device(new(true), nil, nil, at.Add(-time.Second))); err != nil {
		t.Fatal(err)
	}
	check("an older post", at, low)
	at = at.Add(time.Second)
	if err := s.post(device(new(true), nil, nil, at)); err != nil {
		t.Fatal(err)
	}
	check("a newer post", at, nil)
	at = at.Add(time.Minute)
	s.refresh(at)
	check("the system's again", at, low)
}

// known returns a copy.
func TestKnownIsACopy(t *testing.T) {
	s := newSensor(nil, Default().Device, noon)
	level := 0.9
	if err := s.post(device(new(true), &level, nil, noon())); err != nil {
		t.Fatal(err)
	}
	level = 0.1
	*s.known(noon()).Battery = 0.1
	if got := *s.known(noon()).Battery; got != 0.9 {
		t.Errorf("%v", got)
	}
}

func TestPostRefuses(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for name, d := range map[string]Device{
		"nothing":       {At: noon()},
		"no time":       {Charging: new(true)},
		"battery below": device(nil, new(-0.01), nil, noon()),
		"battery above": device(nil, new(1.01), nil, noon()),
		"battery NaN":   device(nil, &nan, nil, noon()),
		"too cold":      device(nil, nil, new(-51.0), noon()),
		"too hot":       device(nil, nil, new(151.0), noon()),
		"heat NaN":      device(nil, nil, &nan, noon()),
		"heat infinite": device(nil, nil, &inf, noon()),
		"half good":     device(new(true), new(2.0), nil, noon()),
	} {
		t.Run(name, func(t *testing.T) {
			s := newSensor(nil, Default().Device, noon)
			if err := s.post(d); fault.KindOf(err) != fault.Invalid {
				t.Errorf("answered with %v", err)
			}
			if diff := cmp.Diff(Device{}, s.known(noon())); diff != "" {
				t.Errorf("something of it was taken: %s", diff)
			}
		})
	}
}

func TestDeviceJSON(t *testing.T) {
	for _, tt := range []struct {
		device Device
		want   string
	}{
		{Device{}, `{}`},
		{device(new(false), new(0.5), nil, noon()), `{"charging":false,"battery":0.5,"at":"2024-03-09T12:00:00Z"}`},
	} {
		b, err := json.Marshal(tt.device)
		if err != nil || string(b) != tt.want {
			t.Errorf("written as %s, %v, want %s", b, err, tt.want)
		}
	}
}
