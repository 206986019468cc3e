package wording

import (
	"strconv"
	"strings"
)

const (
	months = "january february march april may june july august september october november december"
	days   = "monday tuesday wednesday thursday friday saturday sunday"
)

// month and weekday know full names and short ones; sure is false where the
// word has another meaning too.
func month(w string) (n int, sure bool) {
	if n := at(months, w); n >= 0 {
		return n + 1, w != "may" && w != "march"
	}
	if w == "sept" {
		return 9, true
	}
	return english().shorts[w], w != "jan" && w != "mar" && w != "dec" && w != "may"
}

func weekday(w string) (n int, sure bool) {
	w = strings.TrimSuffix(w, "s")
	if n := at(days, w); n >= 0 {
		return n + 1, true
	}
	switch w {
	case "mon", "wed", "sat", "sun", "fri":
	case "tue", "thu", "thur":
		for i, d := range strings.Fields(days) {
			if strings.HasPrefix(d, w) {
				return i + 1, true
			}
		}
	default:
		return 0, false
	}
	for i, d := range strings.Fields(days) {
		if strings.HasPrefix(d, w) {
			return i + 1, false
		}
	}
	return 0, false
}

// dateWord says whether what stands before a word makes it a date.
func dateWord(before string) bool {
	switch before {
	case "on", "in", "by", "until", "till", "since", "from", "to", "before", "after", "next", "last", "this", "every", "early", "late", "mid", "of", "during", "and", "for":
		return true
	}
	return false
}

func dayNumber(w string) int {
	for _, s := range []string{"st", "nd", "rd", "th"} {
		w = strings.TrimSuffix(w, s)
	}
	n, err := strconv.Atoi(w)
	if err != nil || n < 1 || n > 31 || len(w) > 2 {
		return 0
	}
	return n
}

func yearNumber(w string) int {
	n, err := strconv.Atoi(w)
	if err != nil || len(w) != 4 || n < 1900 || n > 2099 {
		return 0
	}
	return n
}

func raw(t []token, i int) string {
	if i < 0 || i >= len(t) {
		return ""
	}
	return t[i].raw
}

// dateAt reads a date, a time of day or a relative date from token i on.
func dateAt(t []token, i int) (out item, n int, ok bool) {
	made := func(key string, n int) (item, int, bool) { return fixed(t[i], key, date), n, true }
	w := t[i].raw
	if d, sure := weekday(w); d > 0 && (sure || t[i].name || dateWord(raw(t, i-1)) || dayNumber(raw(t, i+1)) > 0) {
		return made("weekday "+strconv.Itoa(d), 1)
	}
	if day := dayNumber(w); day > 0 {
		j := i + 1
		if raw(t, j) == "of" {
			j++
		}
		if m, _ := month(raw(t, j)); m > 0 {
			return made(calendar(m, day, yearNumber(raw(t, j+1))), j+1-i+yearLen(t, j+1))
		}
	}
	if m, sure := month(w); m > 0 {
		day := dayNumber(raw(t, i+1))
		if raw(t, i+1) == "the" {
			day = 0
		}
		switch {
		case day > 0:
			return made(calendar(m, day, yearNumber(raw(t, i+2))), 2+yearLen(t, i+2))
		case sure || t[i].name || dateWord(raw(t, i-1)) || yearLen(t, i+1) > 0:
			j := i + 1
			if raw(t, j) == "of" && yearLen(t, j+1) > 0 {
				j++
			}
			return made(calendar(m, 0, yearNumber(raw(t, j))), j-i+yearLen(t, j))
		}
	}
	if y, m, d, ok := iso(w); ok {
		return made(calendar(m, d, y), 1)
	}
	return timeAt(t, i)
}

func yearLen(t []token, i int) int {
	if yearNumber(raw(t, i)) > 0 {
		return 1
	}
	return 0
}

func calendar(month, day, year int) string {
	out := "date"
	if year > 0 {
		out += " " + strconv.Itoa(year)
	}
	out += " " + strings.Fields(months)[month-1]
	if day > 0 {
		out += " " + strconv.Itoa(day)
	}
	return out
}

func iso(w string) (y, m, d int, ok bool) {
	p := strings.Split(w, "-")
	if len(p) != 3 {
		return 0, 0, 0, false
	}
	y, d = yearNumber(p[0]), dayNumber(p[2])
	m, err := strconv.Atoi(p[1])
	return y, m, d, err == nil && y > 0 && d > 0 && m >= 1 && m <= 12
}

// timeAt reads a time of day, a year, or this week.
func timeAt(t []token, i int) (out item, n int, ok bool) {
	made := func(key string, n int) (item, int, bool) { return fixed(t[i], key, date), n, true }
	w, next := t[i].raw, raw(t, i+1)
	half := ""
	switch next {
	case "am", "a.m", "pm", "p.m":
		half = next[:1]
	}
	digits := w != "" && strings.Trim(w, "0123456789:.") == "" && w[0] != '.'
	hour, _, spelledOut := small(w)
	spelledOut = spelledOut && hour > 0 && hour < 13
	switch {
	case digits && half != "" && len(w) <= 5:
		return made(clock(w, half), 2)
	case spelledOut && half != "":
		return made(clock(strconv.Itoa(hour), half), 2)
	case digits && strings.Count(w, ":") == 1 && len(w) <= 5:
		return made(clock24(w), 1)
	case (digits && len(w) <= 5 || spelledOut) && next == "o'clock":
		if spelledOut {
			w = strconv.Itoa(hour)
		}
		return made(clock(w, ""), 2)
	case w == "noon" || w == "midday":
		return made("clock 12:00", 1)
	case w == "midnight":
		return made("clock 0:00", 1)
	case yearNumber(w) > 0 && !moneyBefore(raw(t, i-1)) && units[next] == "":
		return made("year "+w, 1)
	case english().is("today", w):
		return made(w, 1)
	case w == "this" && english().is("unit", strings.TrimSuffix(next, "s")):
		return made("this "+next, 2)
	case w == "this":
		if d, _ := weekday(next); d > 0 {
			return made("this weekday "+strconv.Itoa(d), 2)
		}
	}
	return item{}, 0, false
}

func moneyBefore(w string) bool { return w == "$" || w == "€" || w == "£" || w == "¥" }

// clock24 reads 16:10, in which nothing is left open.
func clock24(w string) string {
	hour, minute, _ := strings.Cut(w, ":")
	h, err := strconv.Atoi(hour)
	if err != nil || h > 24 {
		return w
	}
	return "clock " + strconv.Itoa(h) + ":" + minute
}
