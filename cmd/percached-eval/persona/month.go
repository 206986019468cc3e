package persona

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// A user asks between these hours of a day, at any moment with the same chance.
const (
	AskFrom  = 8
	AskUntil = 23
)

// Month is a month of one user.
type Month struct {
	profile Profile
	seed    uint64
	lex     *lexicon
	rand    *rand.Rand
	owner   string // name of the user, who speaks in every meeting

	events   []Event
	subjects map[string]*subject // by kind and names
	all      []*subject          // in order of registration
	due      []*subject          // to appear in documents from their time on
	papers   []*paper
	questions
}

// New draws a month. It starts at the first midnight at or after start, in start's zone. The
// profile must be valid.
func New(p Profile, seed uint64, start time.Time) *Month {
	m := &Month{
		profile: p, seed: seed, lex: read(), rand: stream(seed, 1), subjects: map[string]*subject{},
		questions: questions{oddities: map[string]bool{}},
	}
	y, month, d := start.Date()
	first := time.Date(y, month, d, 0, 0, 0, 0, start.Location())
	if first.Before(start) {
		first = first.AddDate(0, 0, 1)
	}
	m.owner = m.draw("person", first)
	m.archive(first)
	gone, changed := m.days(p.Deletions), m.days(p.Revisions)
	for n := range p.Days {
		m.day(first.AddDate(0, 0, n), n, gone[n], changed[n])
	}
	slices.SortStableFunc(m.events, earlier)
	m.events = merge(m.phone(first), m.events)
	return m
}

func earlier(a, b Event) int { return a.At.Compare(b.At) }

// merge merges two ordered lists. At equal times, a comes first.
func merge(a, b []Event) []Event {
	out := make([]Event, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if earlier(a[0], b[0]) <= 0 {
			out, a = append(out, a[0]), a[1:]
		} else {
			out, b = append(out, b[0]), b[1:]
		}
	}
	return append(append(out, a...), b...)
}

// Events returns all events in order. They are read-only.
func (m *Month) Events() []Event { return m.events }

func (m *Month) add(e Event) { m.events = append(m.events, e) }

// days distributes n things over the days after the first.
func (m *Month) days(n int) []int {
	out := make([]int, m.profile.Days)
	for range n {
		if len(out) > 1 {
			out[1+m.rand.IntN(len(out)-1)]++
		}
	}
	return out
}

// archive makes the documents of the first day.
func (m *Month) archive(first time.Time) {
	const pace = 2 * time.Second // time between two documents
	for i := range m.profile.Archive {
		at := first.Add(time.Duration(i) * pace)
		if m.profile.Oddly {
			m.arrive(letter, first.AddDate(-60, 0, -m.rand.IntN(9000)), at)
		} else {
			m.arrive(m.form(), first.Add(-time.Duration(1+m.rand.IntN(60*24))*time.Hour), at)
		}
	}
}

func (m *Month) arrive(form string, date, at time.Time) {
	p := m.write(form, date, at)
	m.add(Event{At: at, Kind: Arrives, Key: p.source.Key, Source: p.source})
}

// moment is a planned event of a day.
type moment struct {
	at time.Time
	do func(at time.Time)
}

func (m *Month) day(midnight time.Time, n, gone, changed int) {
	var plan []moment
	often := func(times int, from, to int, do func(at time.Time)) {
		for range times {
			plan = append(plan, moment{clock(midnight, from, 0).Add(time.Duration(m.rand.IntN((to-from)*3600)) * time.Second), do})
		}
	}
	if n%m.profile.Every == 0 {
		// Two thirds arrive in working hours.
		for range m.profile.Documents.within(m.rand) {
			from, to := 9, 17
			if m.rand.IntN(3) == 0 {
				from, to = 7, 22
			}
			often(1, from, to, func(at time.Time) { m.arrive(m.form(), at, at) })
		}
	}
	often(changed, 8, 20, m.revise)
	often(gone, 8, 20, m.remove)
	if n%m.profile.AskEvery == 0 {
		often(m.profile.Questions.within(m.rand), AskFrom, AskUntil, m.ask)
	}
	for _, l := range m.profile.Limits {
		if l.Day == n {
			bytes := int64(l.To * float64(m.profile.Room))
			plan = append(plan, moment{clock(midnight, l.Hour, 0), func(at time.Time) { m.add(Event{At: at, Kind: Limited, Limit: bytes}) }})
		}
	}
	for _, t := range m.profile.Thresholds {
		if t.Day == n {
			plan = append(plan, moment{clock(midnight, t.Hour, 0), func(at time.Time) { m.add(Event{At: at, Kind: Tuned, Threshold: t.To}) }})
		}
	}
	slices.SortStableFunc(plan, func(a, b moment) int { return cmp.Compare(a.at.UnixNano(), b.at.UnixNano()) })
	for _, x := range plan {
		x.do(x.at)
	}
}

// clock is a time of a day, also of a day with 23 or 25 hours.
func clock(midnight time.Time, hour, minute int) time.Time {
	y, month, d := midnight.Date()
	return time.Date(y, month, d, hour, minute, 0, 0, midnight.Location())
}
