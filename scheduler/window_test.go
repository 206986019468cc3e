package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func zone(t testing.TB, name string) *time.Location {
	t.Helper()
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// localSpan prints a span in a time zone.
func localSpan(s span, z *time.Location) string {
	at := func(t time.Time) string {
		if t.IsZero() {
			return "never"
		}
		return t.In(z).Format("Mon 02 15:04 -07")
	}
	if s.Open {
		return fmt.Sprintf("open %s to %s, next %s", at(s.Start), at(s.End), at(s.Next))
	}
	return "closed, next " + at(s.Next)
}

// When windows are open, in local times; an offset distinguishes those of a repeated
// hour.
func TestWindows(t *testing.T) {
	type moments [][2]string
	nightly := []Window{{"0 22 * * *", 8 * time.Hour}}
	for _, tt := range []struct {
		name, zone string
		windows    []Window
		moments    moments
	}{
		{"none: a day is a window", "Europe/Berlin", nil, moments{
			{"2024-03-09 00:00 +01", "open Sat 09 00:00 +01 to Sun 10 00:00 +01, next Sun 10 00:00 +01"},
			{"2024-03-09 23:59 +01", "open Sat 09 00:00 +01 to Sun 10 00:00 +01, next Sun 10 00:00 +01"},
			{"2024-03-31 12:00 +02", "open Sun 31 00:00 +01 to Mon 01 00:00 +02, next Mon 01 00:00 +02"},
		}},
		{"none: a day without midnight", "America/Sao_Paulo", nil, moments{
			{"2018-11-03 12:00 -03", "open Sat 03 00:00 -03 to Sun 04 01:00 -02, next Sun 04 01:00 -02"},
			{"2018-11-04 01:00 -02", "open Sun 04 01:00 -02 to Mon 05 00:00 -02, next Mon 05 00:00 -02"},
		}},
		{"none: a day with two midnights", "America/Havana", nil, moments{
			{"2024-11-03 00:30 -05", "open Sun 03 00:00 -04 to Mon 04 00:00 -05, next Mon 04 00:00 -05"},
		}},
		{"none: a day that was left out", "Pacific/Apia", nil, moments{
			{"2011-12-29 12:00 -10", "open Thu 29 00:00 -10 to Sat 31 00:00 +14, next Sat 31 00:00 +14"},
			{"2011-12-31 00:00 +14", "open Sat 31 00:00 +14 to Sun 01 00:00 +14, next Sun 01 00:00 +14"},
		}},
		{"every night", "Europe/Berlin", nightly, moments{
			{"2024-03-09 21:59 +01", "closed, next Sat 09 22:00 +01"},
			{"2024-03-09 22:00 +01", "open Sat 09 22:00 +01 to Sun 10 06:00 +01, next Sun 10 22:00 +01"},
			{"2024-03-10 05:59 +01", "open Sat 09 22:00 +01 to Sun 10 06:00 +01, next Sun 10 22:00 +01"},
			{"2024-03-10 06:00 +01", "closed, next Sun 10 22:00 +01"},
			{"2024-03-30 23:00 +01", "open Sat 30 22:00 +01 to Sun 31 07:00 +02, next Sun 31 22:00 +02"}, // lasts its eight hours
			{"2024-10-26 23:00 +02", "open Sat 26 22:00 +02 to Sun 27 05:00 +01, next Sun 27 22:00 +01"},
		}},
		{"in an hour that is left out", "Europe/Berlin", []Window{{"30 2 * * *", time.Hour}}, moments{
			{"2024-03-31 01:59 +01", "closed, next Sun 31 03:00 +02"},
			{"2024-03-31 03:00 +02", "open Sun 31 03:00 +02 to Sun 31 04:00 +02, next Mon 01 02:30 +02"},
		}},
		{"in an hour that comes twice", "Europe/Berlin", []Window{{"30 2 * * *", time.Hour}}, moments{
			{"2024-10-27 02:45 +02", "open Sun 27 02:30 +02 to Sun 27 02:30 +01, next Mon 28 02:30 +01"},
			{"2024-10-27 02:45 +01", "closed, next Mon 28 02:30 +01"},
		}},
		{"each hour, one comes twice", "Europe/Berlin", []Window{{"30 * * * *", 10 * time.Minute}}, moments{
			{"2024-10-27 02:35 +02", "open Sun 27 02:30 +02 to Sun 27 02:40 +02, next Sun 27 02:30 +01"},
			{"2024-10-27 02:35 +01", "open Sun 27 02:30 +01 to Sun 27 02:40 +01, next Sun 27 03:30 +01"},
		}},
		{"at a midnight that is left out", "America/Sao_Paulo", []Window{{"0 0 * * *", time.Hour}}, moments{
			{"2018-11-03 12:00 -03", "closed, next Sun 04 01:00 -02"},
			{"2018-11-04 01:30 -02", "open Sun 04 01:00 -02 to Sun 04 02:00 -02, next Mon 05 00:00 -02"},
		}},
		{"of another time zone", "Europe/Berlin", []Window{{"CRON_TZ=Asia/Tokyo 0 0 * * *", time.Hour}, {"TZ=America/New_York 0 22 * * 5", time.Hour}}, moments{
			{"2024-03-08 16:30 +01", "open Fri 08 16:00 +01 to Fri 08 17:00 +01, next Sat 09 04:00 +01"},
			{"2024-03-15 17:00 +01", "closed, next Sat 16 03:00 +01"}, // New York already has summer time, Berlin does not
		}},
		{"two that overlap", "Europe/Berlin", []Window{{"0 22 * * *", 4 * time.Hour}, {"0 1 * * *", 4 * time.Hour}}, moments{
			{"2024-03-09 22:00 +01", "open Sat 09 22:00 +01 to Sun 10 05:00 +01, next Sun 10 22:00 +01"},
			{"2024-03-10 01:30 +01", "open Sat 09 22:00 +01 to Sun 10 05:00 +01, next Sun 10 22:00 +01"},
		}},
		{"two that touch, one within another", "UTC", []Window{{"0 22 * * *", 2 * time.Hour}, {"0 0 * * *", 2 * time.Hour}, {"30 22 * * *", time.Minute}}, moments{
			{"2024-03-10 00:00 +00", "open Sat 09 22:00 +00 to Sun 10 02:00 +00, next Sun 10 22:00 +00"},
		}},
		{"longer than the gap: a budget a day", "Europe/Berlin", []Window{{"*/10 * * * *", 15 * time.Minute}}, moments{
			{"2024-03-09 12:34 +01", "open Sat 09 00:00 +01 to Sun 10 00:00 +01, next Sun 10 00:00 +01"},
			{"2024-10-27 02:34 +01", "open Sun 27 00:00 +02 to Mon 28 00:00 +01, next Mon 28 00:00 +01"},
		}},
		{"as long as the gap: a budget an activation", "Europe/Berlin", []Window{{"0 22 * * *", 24 * time.Hour}}, moments{
			{"2024-03-09 21:59 +01", "open Fri 08 22:00 +01 to Sat 09 22:00 +01, next Sat 09 22:00 +01"},
			{"2024-03-31 12:00 +02", "open Sat 30 22:00 +01 to Sun 31 22:00 +02, next Sun 31 22:00 +02"}, // a day of 23 hours
			{"2024-10-27 21:30 +01", "closed, next Sun 27 22:00 +01"},                                    // one of 25
		}},
		{"two that never close", "UTC", []Window{{"0 9 * * *", 14 * time.Hour}, {"0 22 * * *", 12 * time.Hour}}, moments{
			{"2024-03-09 08:00 +00", "open Fri 08 09:00 +00 to Sat 09 09:00 +00, next Sat 09 09:00 +00"},
			{"2024-03-09 23:00 +00", "open Sat 09 09:00 +00 to Sun 10 09:00 +00, next Sun 10 09:00 +00"},
		}},
		{"a week", "UTC", []Window{{"0 8 * * 1", MaxLength}}, moments{
			{"2024-03-10 12:00 +00", "open Mon 04 08:00 +00 to Mon 11 08:00 +00, next Mon 11 08:00 +00"},
		}},
		{"a long one with short ones in it", "UTC", []Window{{"0 22 * * 5", 48 * time.Hour}, {"0 1 * * *", 2 * time.Hour}}, moments{
			{"2024-03-08 23:00 +00", "open Fri 08 22:00 +00 to Sat 09 01:00 +00, next Sat 09 01:00 +00"},
			{"2024-03-09 12:00 +00", "open Sat 09 01:00 +00 to Sun 10 01:00 +00, next Sun 10 01:00 +00"},
			{"2024-03-10 12:00 +00", "open Sun 10 01:00 +00 to Sun 10 22:00 +00, next Mon 11 01:00 +00"},
		}},
		{"once in four years", "UTC", []Window{{"0 0 29 2 *", time.Hour}}, moments{
			{"2024-03-01 00:00 +00", "closed, next Tue 29 00:00 +00"},
			{"2097-01-01 00:00 +00", "closed, next never"}, // 2100 has none
		}},
		{"two sorts of day", "UTC", []Window{{"@weekly", time.Hour}, {"0 12 13 * mon-wed", time.Hour}}, moments{
			{"2024-03-09 12:00 +00", "closed, next Sun 10 00:00 +00"},
			{"2024-03-12 12:59 +00", "open Tue 12 12:00 +00 to Tue 12 13:00 +00, next Wed 13 12:00 +00"},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			z := zone(t, tt.zone)
			w, err := newWindows(tt.windows, z)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range tt.moments {
				now, err := time.Parse("2006-01-02 15:04 -07", m[0])
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(m[1], localSpan(w.at(now), z)); diff != "" {
					t.Errorf("at %s: %s", m[0], diff)
				}
			}
		})
	}
}

// On days of clock changes and the day before: independently of earlier calls, a span is
// the same, contains the requested time, and follows the previous one.
func TestSpansFollowEachOther(t *testing.T) {
	long := []Window{{"0 9 * * *", 14 * time.Hour}, {"15 2 * * 6", 30 * time.Hour}}
	for _, tt := range []struct{ zone, begin string }{
		{"Europe/Berlin", "2024-03-30"},
		{"Europe/Berlin", "2024-10-26"},
		{"America/Sao_Paulo", "2018-02-16"},
		{"America/Sao_Paulo", "2018-11-03"},
		{"America/Havana", "2024-03-09"},
		{"America/Havana", "2024-11-02"},
		{"Australia/Lord_Howe", "2024-04-06"},
		{"Australia/Lord_Howe", "2024-10-05"},
		{"Pacific/Apia", "2011-12-29"},
		{"Africa/Casablanca", "2024-03-09"},
	} {
		z := zone(t, tt.zone)
		begin, err := time.ParseInLocation(time.DateOnly, tt.begin, z)
		if err != nil {
			t.Fatal(err)
		}
		for _, ws := range [][]Window{
			nil,
			{{"*/20 * * * *", 15 * time.Minute}},
			{{"*/10 * * * *", 15 * time.Minute}},
			{{"0,30 0-3,23 * * *", 20 * time.Minute}},
			{{"0 0 * * *", 24 * time.Hour}},
			long,
		} {
			w, err := newWindows(ws, z)
			if err != nil {
				t.Fatal(err)
			}
			opens := oracle(ws, begin, z)
			var last span
			for now := begin; now.Before(begin.Add(50 * time.Hour)); now = now.Add(10 * time.Minute) {
				s := w.at(now)
				where := fmt.Sprintf("%s, %v, at %v", tt.zone, ws, now)
				holds(t, where, s, now)
				if fresh, _ := newWindows(ws, z); now.Minute() == 20 && fresh.at(now) != s {
					t.Fatalf("%s: %s, but %s when looked at first", where, localSpan(s, z), localSpan(fresh.at(now), z))
				}
				switch {
				case s == last || last == span{}:
				case s.Open && !s.Start.Equal(last.Next):
					t.Fatalf("%s: %s after %s", where, localSpan(s, z), localSpan(last, z))
				case !s.Open && (!last.Open || !s.Next.Equal(last.Next)):
					t.Fatalf("%s: %s after %s", where, localSpan(s, z), localSpan(last, z))
				}
				covers := func(o opening) bool { return !o.start.After(now) && o.end.After(now) }
				if open := ws == nil || slices.ContainsFunc(opens, covers); open != s.Open {
					t.Fatalf("%s: %s, but open should be %v", where, localSpan(s, z), open)
				}
				last = s
			}
		}
	}
}

// holds checks the invariants of a span.
func holds(t testing.TB, where string, s span, now time.Time) {
	t.Helper()
	switch {
	case s.Open && (s.Start.After(now) || !s.End.After(now)):
		t.Fatalf("%s: open from %v to %v", where, s.Start, s.End)
	case s.Open && !s.Next.IsZero() && s.Next.Before(s.End):
		t.Fatalf("%s: the next starts at %v, before the end %v", where, s.Next, s.End)
	case !s.Open && !s.Next.IsZero() && !s.Next.After(now):
		t.Fatalf("%s: closed, but the next started at %v", where, s.Next)
	case !s.Open && !(s.Start.IsZero() && s.End.IsZero()):
		t.Fatalf("%s: closed from %v to %v", where, s.Start, s.End)
	}
}

// oracle lists when windows are open, from two days before begin to three after, by
// watching the wall clock minute by minute. It knows the expressions of the test above.
func oracle(ws []Window, begin time.Time, z *time.Location) []opening {
	asks := func(cron string, c time.Time) bool {
		h, m := c.Hour(), c.Minute()
		switch cron {
		case "*/20 * * * *":
			return m%20 == 0
		case "*/10 * * * *":
			return m%10 == 0
		case "0,30 0-3,23 * * *":
			return m%30 == 0 && (h <= 3 || h == 23)
		case "0 0 * * *":
			return h == 0 && m == 0
		case "0 9 * * *":
			return h == 9 && m == 0
		case "15 2 * * 6":
			return h == 2 && m == 15 && c.Weekday() == time.Saturday
		}
		panic(cron)
	}
	var all []opening
	for _, w := range ws {
		hourly := strings.HasPrefix(w.Cron, "*/")
		shown := map[time.Time]bool{}
		was := onWall(begin.Add(-2*day), z)
		for at := begin.Add(-2*day + time.Minute); at.Before(begin.Add(3 * day)); at = at.Add(time.Minute) {
			is := onWall(at, z)
			// What the clock shows now and what it skipped; after a step back, what it
			// shows.
			for c := is; c.Equal(is) || c.After(was); c = c.Add(-time.Minute) {
				if asks(w.Cron, c) && (hourly || !shown[c]) {
					all = append(all, opening{at, at.Add(w.Length)})
				}
				shown[c] = true
			}
			was = is
		}
	}
	return all
}

func TestWindowsRefuse(t *testing.T) {
	for cron, want := range map[string]string{
		"":                           "empty spec string",
		"* * * *":                    "expected exactly 5 fields",
		"0 0 * * * *":                "expected exactly 5 fields",
		"60 * * * *":                 "above maximum",
		"*/0 * * * *":                "should be a positive number",
		"CRON_TZ=Europe/Berlin":      "time zone",
		"TZ= 0 0 * * *":              "time zone",
		"CRON_TZ=Moon/Sea 0 0 * * *": "Moon/Sea",
		"CRON_TZ=../x 0 0 * * *":     "bad location",
		"0 0 31 4,6,9,11 *":          "it never opens",
		", * * * *":                  "it never opens",
		"* , * * *":                  "it never opens",
		"* * , * *":                  "it never opens",
		"* * * , *":                  "it never opens",
		"@every 1h":                  "@every",
		"@reboot":                    "unrecognized descriptor",
	} {
		_, err := newWindows([]Window{{"0 1 * * *", time.Hour}, {cron, time.Hour}}, time.UTC)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), fmt.Sprintf("window %q", cron)) {
			t.Errorf("%q is refused with: %v\nwant the expression and: %s", cron, err, want)
		}
	}
}

// An expression is refused or gives valid windows.
func FuzzWindow(f *testing.F) {
	f.Add("0 22 * * *", int64(8*time.Hour), int64(1711846800), "Europe/Berlin")
	f.Add("CRON_TZ=Asia/Tokyo */7 1-5 * jan-mar,12 1", int64(time.Minute), int64(0), "America/Havana")
	f.Add("TZ=UTC", int64(time.Hour), int64(-1), "UTC")
	f.Add("* * 29 2 ?", int64(MaxLength), int64(4102444800), "Pacific/Apia")
	f.Add("@every 1s", int64(1), int64(1), "Africa/Casablanca")
	f.Fuzz(func(t *testing.T, cron string, length, unix int64, name string) {
		z, err := time.LoadLocation(name)
		if err != nil || name == "" {
			z = time.UTC
		}
		one := Window{Cron: cron, Length: time.Duration(length)}
		c := Default()
		c.Windows = []Window{one}
		w, err := newWindows(c.Windows, z)
		if (err == nil) != (c.Validate() == nil) {
			t.Fatalf("Validate says %v, the windows %v", c.Validate(), err)
		}
		if err != nil {
			return
		}
		const century = 100 * 365 * 24 * 60 * 60
		now := time.Unix(unix%century, 0)
		s := w.at(now)
		holds(t, cron, s, now)
		if s.Next.IsZero() {
			return
		}
		opens := w.at(s.Next)
		holds(t, cron, opens, s.Next)
		if !opens.Open || !opens.Start.Equal(s.Next) {
			t.Fatalf("%q at %v: %s, and then %s", cron, now, localSpan(s, z), localSpan(opens, z))
		}
	})
}
