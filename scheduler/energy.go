package scheduler

import (
	"io/fs"
	"math"
	"path"
	"strings"
	"sync"
	"time"
)

// Where the energy comes from that a meter reads.
const (
	EnergyProcessor = "processor" // the processors' counters (RAPL)
	EnergyBattery   = "battery"   // what the battery says that the whole device draws, while discharging
	EnergyUnknown   = "unknown"
)

const (
	// batteryEvery is how often the battery's power is read at most: some drivers take
	// milliseconds.
	batteryEvery = time.Second
	// silentEvery is how often a battery that gives nothing, or does not say how much, is
	// read at most. For so long the energy stays unknown after the machine was unplugged.
	silentEvery = 5 * time.Second
	// longestGap is how long the battery's power may go unread before the energy between
	// is unknown.
	longestGap = 5 * time.Minute
	// mostPower bounds a plausible power in W, of the battery or of one processor.
	mostPower = 1000
)

// meter measures the energy of spans of time. What is used while several run is divided
// evenly among them. It is all of the processors, or of the device, so that it includes
// what other programs used meanwhile. It is safe for concurrent use.
type meter struct {
	sys fs.FS
	now func() time.Time

	mu     sync.Mutex
	zones  map[string]float64 // µJ by zone at the last read
	looked time.Time          // when the zones were read
	source string
	total  float64 // J
	share  float64 // J that a span that always ran would have
	gaps   int     // times that the energy since the read before was unknown
	spans  int     // that run now

	power   float64   // W of the battery at the last read
	read    time.Time // when a battery was read last; zero: the machine has none
	sampled time.Time
}

// sample adds the energy since the last call.
func (m *meter) sample() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sampleLocked()
}

func (m *meter) sampleLocked() {
	before := m.source
	joules, ok := m.processors()
	m.source = EnergyProcessor
	if !ok {
		m.source = EnergyBattery
		if joules, ok = m.battery(); !ok {
			m.source = EnergyUnknown
		}
	}
	if !ok || before != m.source {
		m.gaps++
		if before != m.source && m.source != EnergyProcessor {
			joules = 0
		}
	}
	m.total += joules
	if m.spans > 0 {
		m.share += joules / float64(m.spans)
	}
}

// begin begins a span. End returns its energy; false if it is not known for the whole span.
func (m *meter) begin() (end func() (joules float64, known bool)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sampleLocked()
	m.spans++
	share, gaps := m.share, m.gaps
	return func() (float64, bool) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.sampleLocked()
		m.spans--
		joules := m.share - share
		return joules, gaps == m.gaps && m.source != EnergyUnknown && joules > 0
	}
}

// processors returns the increase of the energy counters; false if there is none that can
// be read. A counter wraps at its range. A counter that is new adds nothing. One that went
// back and cannot have wrapped began anew, as some do while the machine sleeps: what it lost
// is unknown.
func (m *meter) processors() (joules float64, ok bool) {
	const (
		dir  = "class/powercap"
		most = 1e15 // µJ, above any real counter
	)
	names, _ := list(m.sys, dir)
	now := m.now() // with the monotonic clock, which stops while the machine sleeps
	plausible := mostPower * now.Sub(m.looked).Seconds()
	m.looked = now
	for _, name := range names {
		// Zones below this one, like intel-rapl:0:0, are part of it; psys is the whole
		// machine including the processors.
		id, found := strings.CutPrefix(name, "intel-rapl:")
		if !found || strings.Contains(id, ":") || value(m.sys, path.Join(dir, name, "name")) == "psys" {
			continue
		}
		is, whole := number(value(m.sys, path.Join(dir, name, "energy_uj")), 0, most)
		if !whole {
			continue
		}
		ok = true
		was, seen := m.zones[name]
		if m.zones == nil {
			m.zones = map[string]float64{}
		}
		m.zones[name] = is
		switch {
		case !seen:
		case is >= was:
			joules += (is - was) / 1e6
		default:
			// Without a range, a wrapped counter looks like a reset one.
			top, known := number(value(m.sys, path.Join(dir, name, "max_energy_range_uj")), 0, most)
			if over := (top - was + is) / 1e6; known && was <= top && over <= plausible {
				joules += over
			} else {
				m.gaps++
			}
		}
	}
	return joules, ok
}

// battery returns the energy since the last call, from the power at both ends; false if
// no battery discharges, or none says its power.
func (m *meter) battery() (joules float64, ok bool) {
	now := m.now() // as in processors: what the battery gave during sleep belongs to no span
	before, since := m.power, now.Sub(m.sampled)
	every := batteryEvery
	if math.IsNaN(m.power) {
		every = silentEvery
	}
	if age := now.Sub(m.read); m.read.IsZero() || age < 0 || age >= every {
		var found bool
		if m.power, found = batteryPower(m.sys); found {
			m.read = now
		} else { // no driver was asked, so that a battery is seen as soon as it is there
			m.read = time.Time{}
		}
	}
	m.sampled = now
	if math.IsNaN(m.power) {
		return 0, false
	}
	if math.IsNaN(before) || since < 0 || since > longestGap {
		m.gaps++
		return 0, true
	}
	return (before + m.power) / 2 * since.Seconds(), true
}

// batteryPower is the power in W that the device's discharging batteries give; NaN if it
// is not known. Found says that the device has a battery.
func batteryPower(sys fs.FS) (power float64, found bool) {
	const (
		dir  = "class/power_supply"
		most = 1e12
	)
	names, _ := list(sys, dir)
	sum, known := 0.0, false
	for _, name := range names {
		get := func(file string) string { return value(sys, path.Join(dir, name, file)) }
		of := func(file string) (float64, bool) {
			n, ok := number(get(file), -most, most)
			return math.Abs(n), ok && n != 0 // some drivers count what a battery gives as negative
		}
		if get("type") != "Battery" || strings.EqualFold(get("scope"), "Device") {
			continue
		}
		if found = true; get("status") != "Discharging" {
			continue
		}
		watts, ok := of("power_now")
		watts /= 1e6
		if !ok {
			current, ok1 := of("current_now")
			voltage, ok2 := of("voltage_now")
			watts, ok = current/1e6*voltage/1e6, ok1 && ok2
		}
		if !ok || watts > mostPower {
			return math.NaN(), found
		}
		sum, known = sum+watts, true
	}
	if !known {
		return math.NaN(), found
	}
	return sum, found
}

// why says in words where the energy comes from, or why it is unknown.
func (m *meter) why() (source, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sampleLocked()
	switch m.source {
	case EnergyProcessor:
		return m.source, "the energy counters of the processors (RAPL)"
	case EnergyBattery:
		return m.source, "the power that the battery gives, for the whole device"
	}
	zones, _ := list(m.sys, "class/powercap")
	for _, name := range zones {
		if strings.HasPrefix(name, "intel-rapl:") {
			return m.source, "the processors' energy counters cannot be read (on most systems only by root), and no battery that discharges says its power"
		}
	}
	return m.source, "the processors have no energy counters that can be read, and no battery that discharges says its power"
}

// Energy is what is known of the energy that percached uses.
type Energy struct {
	Source string // EnergyProcessor, EnergyBattery or EnergyUnknown
	Why    string
	// Requests counts the requests since the start whose energy is known, Joules is their
	// energy and Took their time.
	Requests int
	Joules   float64
	Took     time.Duration
}

// Energy returns what is known of energy.
func (s *Scheduler) Energy() Energy {
	source, why := s.meter.why()
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.asked
	e.Source, e.Why = source, why
	return e
}

// MeasureRequest measures a user request from now until end is called, which returns its
// energy in J; nil if it is not known. Requests that run at the same time, and a job of
// idle work that one interrupts, share the energy evenly.
func (s *Scheduler) MeasureRequest() (end func(took time.Duration) *float64) {
	measured := s.meter.begin()
	return func(took time.Duration) *float64 {
		joules, known := measured()
		if !known {
			return nil
		}
		s.mu.Lock()
		s.asked.Requests++
		s.asked.Joules += joules
		s.asked.Took += took
		s.mu.Unlock()
		if s.o.Observer.Request != nil {
			s.o.Observer.Request(joules)
		}
		return &joules
	}
}

// requestPower is the power of requests in W; 0 if it is not known. The caller holds mu.
func (s *Scheduler) requestPower() float64 {
	if s.asked.Took <= 0 {
		return 0
	}
	return s.asked.Joules / s.asked.Took.Seconds()
}
