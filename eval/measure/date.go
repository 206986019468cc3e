package measure

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// date is a day, a part of a day's name, or a time of day; 0: not said.
type date struct {
	year, month, day int
	weekday          int // from 1
	relative         string
	clock            int  // minutes of the day, from 1
	half             bool // morning or evening is not said
	either           bool // month and day may be swapped
}

// same says whether two dates may mean the same day or time: they share a part, and all
// shared parts are equal.
func (d date) same(e date) bool {
	if d.agrees(e) {
		return true
	}
	if d.either || e.either {
		d.month, d.day = d.day, d.month
		return d.agrees(e)
	}
	return false
}

func (d date) agrees(e date) bool {
	common := 0
	for _, f := range [][2]int{
		{d.year, e.year}, {d.month, e.month}, {d.day, e.day}, {d.weekday, e.weekday}, {d.clock, e.clock},
	} {
		if f[0] == 0 || f[1] == 0 {
			continue
		}
		if f[0] != f[1] && !((d.half || e.half) && f == [2]int{d.clock, e.clock} && (f[0]-f[1])%720 == 0) {
			return false
		}
		common++
	}
	if d.relative != "" && e.relative != "" {
		return d.relative == e.relative
	}
	return common > 0
}

// isNumber says whether a number can mean the date.
func (d date) isNumber(n number) bool {
	if n.unit != "" {
		return false
	}
	if d.clock > 0 {
		minutes := int(n.value)*60 + 1
		return n.bare && 0 < n.value && n.value <= 24 && n.value == float64(int(n.value)) && (d.clock-minutes)%720 == 0
	}
	return n.ordinal && float64(d.day) == n.value || d == date{year: int(n.value)} && n.value > 0
}

var (
	iso     = regexp.MustCompile(`^(\d{4})[-/](\d{1,2})[-/](\d{1,2})$`)
	slashed = regexp.MustCompile(`^(\d{1,2})([/.-])(\d{1,2})[/.-](\d{4}|\d{2})$`)
	brief   = regexp.MustCompile(`^(\d{1,2})/(\d{1,2})$`)
	clock   = regexp.MustCompile(`^(\d{1,2})(?:[:.](\d{2}))?(?::\d{2})?(am|pm|a\.m|p\.m)?$`)
	nth     = regexp.MustCompile(`^(\d{1,2})(?:st|nd|rd|th)?$`)
)

// isDate says whether a word is a date in digits.
func isDate(s string) bool {
	_, ok := inFigures(s)
	return ok
}

// inFigures reads 2001-02-28, 28.2.2001, 2/28/01 and 2/28. In a date with slashes, a
// number above 12 is the day; otherwise the order of month and day is open.
func inFigures(s string) (date, bool) {
	if m := iso.FindStringSubmatch(s); m != nil {
		return valid(date{year: atoi(m[1]), month: atoi(m[2]), day: atoi(m[3])})
	}
	if m := slashed.FindStringSubmatch(s); m != nil {
		year := atoi(m[4])
		if len(m[4]) == 2 {
			year += 1900
			if year < 1950 {
				year += 100
			}
		}
		return valid(orderMonthAndDay(date{year: year, month: atoi(m[1]), day: atoi(m[3])}, m[2]))
	}
	if m := brief.FindStringSubmatch(s); m != nil {
		return valid(orderMonthAndDay(date{month: atoi(m[1]), day: atoi(m[2])}, "/"))
	}
	return date{}, false
}

func orderMonthAndDay(d date, by string) date {
	if d.month > 12 || by == "." {
		d.month, d.day = d.day, d.month
	} else if d.day <= 12 && d.day != d.month {
		d.either = true
	}
	return d
}

func valid(d date) (date, bool) {
	return d, 1 <= d.month && d.month <= 12 && 1 <= d.day && d.day <= 31
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s) // s has only digits
	return n
}

// readDate reads the date or time at the start of the tokens. It returns how many tokens
// it used.
func readDate(ls []token) (date, int) {
	w := ls[0].lower
	if d, n := readClock(ls); n > 0 {
		return d, n
	}
	if in(relatives, w) {
		return date{relative: w}, 1
	}
	var d date
	used := 0
	for i := 0; i < len(ls); i++ {
		if i > 0 && used > 0 && ls[i].start {
			break
		}
		if used > 0 && i == used && (ls[i].lower == "of" || ls[i].lower == "the" || ls[i].lower == "on") {
			if i+1 < len(ls) && ls[i+1].lower == "the" { // on the 28th
				i++
			}
			if i+1 >= len(ls) || !d.extend(ls, i+1) {
				break
			}
			i++
		} else if !d.extend(ls, i) {
			break
		}
		used = i + 1
	}
	return d, used
}

// extend adds what a token says about the date; false: it says nothing.
func (d *date) extend(ls []token, i int) bool {
	w := ls[i].lower
	if f, ok := inFigures(w); ok && d.month == 0 && d.day == 0 && (f.year == 0 || d.year == 0) {
		f.weekday, f.year = d.weekday, max(f.year, d.year)
		*d = f
		return true
	}
	if n := weekday(ls[i]); n > 0 && d.weekday == 0 {
		d.weekday = n
		return true
	}
	if n := month(ls, i); n > 0 && d.month == 0 {
		d.month = n
		return true
	}
	if n, ok := dayOf(w); ok && d.day == 0 {
		next := i + 1
		if next < len(ls) && ls[next].lower == "of" {
			next++
		}
		if d.month > 0 && !followedByMonth(ls, next) || followedByMonth(ls, next) && d.month == 0 || d.weekday > 0 && ordinal(w) {
			d.day = n
			return true
		}
	}
	if len(w) == 4 && digits(w) && w >= "1900" && w < "2100" && d.year == 0 {
		if d.month == 0 && (d.weekday > 0 || i+1 < len(ls) && (units[ls[i+1].lower] != "" || scales[ls[i+1].lower] > 0)) {
			return false
		}
		d.year = atoi(w)
		return true
	}
	return false
}

func followedByMonth(ls []token, i int) bool { return i < len(ls) && month(ls, i) > 0 }

func ordinal(w string) bool {
	_, word, _ := small(w)
	return word || nth.MatchString(w) && !digits(w)
}

// dayOf reads 28, 28th and third.
func dayOf(w string) (int, bool) {
	if m := nth.FindStringSubmatch(w); m != nil {
		n := atoi(m[1])
		return n, 1 <= n && n <= 31
	}
	v, ord, ok := small(w)
	return int(v), ok && ord && 1 <= v && v <= 31
}

// weekday reads Friday, Fridays, and Fri with a capital. It counts from 1; 0: not a
// weekday.
func weekday(l token) int {
	for i, d := range weekdays {
		if withoutApostrophe(l.lower) == d || l.lower == d+"s" || capital(l.text) && (l.lower == d[:3] || l.lower == d[:3]+"s" || len(l.lower) > 3 && strings.HasPrefix(d, l.lower)) {
			return i + 1
		}
	}
	return 0
}

// month reads February and Feb. It counts from 1; 0: not a month. May, March and
// abbreviations are also ordinary words. They need a capital within a sentence, or a
// number beside them.
func month(ls []token, i int) int {
	l := ls[i]
	for n, m := range months {
		if withoutApostrophe(l.lower) != m && l.lower != m[:3] && (l.lower != "sept" || m[:3] != "sep") {
			continue
		}
		if withoutApostrophe(l.lower) == m && m != "may" && m != "march" {
			return n + 1
		}
		numbered := func(i int) bool {
			if i < 0 || i >= len(ls) {
				return false
			}
			w := ls[i].lower
			_, day := dayOf(w)
			return day || len(w) == 4 && digits(w)
		}
		of := i >= 2 && ls[i-1].lower == "of" && numbered(i-2)
		the := i+2 < len(ls) && ls[i+1].lower == "the" && numbered(i+2)
		in := i >= 1 && slices.Contains([]string{"in", "since", "until", "next", "last"}, ls[i-1].lower)
		if in || numbered(i-1) || numbered(i+1) || of || the || capital(l.text) && (!l.start || l.end || len(ls) == i+1) {
			return n + 1
		}
	}
	return 0
}

// readClock reads 15:00, 3 pm, 3pm, 3.30 pm, 3 o'clock, at 3, noon, 12 noon and midnight.
func readClock(ls []token) (date, int) {
	switch ls[0].lower {
	case "noon", "midday":
		return date{clock: 1 + 12*60}, 1
	case "midnight":
		return date{clock: 1}, 1
	}
	if len(ls) > 1 && ls[0].lower == "12" && !ls[0].end && in(noons, ls[1].lower) {
		d, _ := readClock(ls[1:])
		return d, 2
	}
	if len(ls) > 1 && ls[0].lower == "at" {
		if hour := atoi(ls[1].lower); 0 < hour && hour <= 12 && digits(ls[1].lower) && hourAlone(ls[1:]) {
			return date{clock: 1 + hour*60, half: true}, 2
		}
	}
	m := clock.FindStringSubmatch(ls[0].lower)
	if m == nil {
		return date{}, 0
	}
	half, used := strings.ReplaceAll(m[3], ".", ""), 1
	if half == "" && len(ls) > 1 && !ls[0].end {
		switch next := strings.ReplaceAll(ls[1].lower, ".", ""); next {
		case "am", "pm":
			half, used = next, 2
		case "o'clock":
			half, used = "either", 2
		}
	}
	colon := strings.Contains(ls[0].lower, ":")
	hour, minute := atoi(m[1]), atoi(m[2])
	if half == "" && !colon || hour > 24 || minute > 59 {
		return date{}, 0
	}
	switch {
	case half == "pm" && hour < 12:
		hour += 12
	case half == "am" && hour == 12:
		hour = 0
	case half == "either", half == "" && hour <= 12 && hour > 0 && m[1][0] != '0':
		return date{clock: 1 + hour*60 + minute, half: true}, used
	}
	return date{clock: 1 + hour%24*60 + minute}, used
}

// hourAlone says whether an hour stands alone: the next word neither is counted by it nor
// names the half of the day.
func hourAlone(ls []token) bool {
	if len(ls) == 1 || ls[0].end {
		return true
	}
	next := ls[1].lower
	return !in([]string{"am", "pm", "a.m", "p.m", "per", "or", "and", "to"}, next) && (in(function, next) || weekday(ls[1]) > 0 || in(relatives, next))
}
