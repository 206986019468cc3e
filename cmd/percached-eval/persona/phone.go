package persona

import "time"

// Battery use of a phone in an hour, and its temperature.
const (
	drain  = 0.045
	charge = 0.3
	empty  = 0.12 // level at which it is plugged in for an hour by day
	warm   = 32.0 // °C
)

// phone returns the states that the phone reports: it charges at night, discharges by day, and
// is sometimes too hot for idle work.
func (m *Month) phone(first time.Time) []Event {
	r := stream(m.seed, 2)
	out := make([]Event, 0, m.profile.Days*int(25*time.Hour/m.profile.Report+1))
	d := Device{Battery: 0.8}
	var byDay time.Time // time when it is unplugged
	midnight := first
	for range m.profile.Days {
		morning := clock(midnight, 6, 30+r.IntN(60))
		night := clock(midnight, 22, r.IntN(120))
		hot := clock(midnight, 12+r.IntN(6), r.IntN(60))
		cool := hot
		if r.IntN(3) == 0 {
			cool = hot.Add(time.Duration(40+r.IntN(60)) * time.Minute)
		}
		tomorrow := clock(midnight.AddDate(0, 0, 1), 0, 0)
		for at := midnight; at.Before(tomorrow); at = at.Add(m.profile.Report) {
			if d.Battery < empty && byDay.Before(at) {
				byDay = at.Add(time.Hour)
			}
			d.Charging = at.Before(morning) || !at.Before(night) || at.Before(byDay)
			hours := m.profile.Report.Hours()
			if d.Charging {
				d.Battery = min(1, d.Battery+charge*hours)
			} else {
				d.Battery = max(0.01, d.Battery-drain*hours*(0.5+r.Float64()))
			}
			d.Temperature = warm + 4*r.Float64()
			if d.Charging && d.Battery < 1 {
				d.Temperature += 5
			}
			if !at.Before(hot) && at.Before(cool) {
				d.Temperature += 40
			}
			out = append(out, Event{At: at, Kind: Posted, Device: d})
		}
		midnight = tomorrow
	}
	return out
}
