package reader

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// sane reports whether a document may have such a date.
func sane(t time.Time) bool { return t.Year() >= 1970 && t.Year() <= 2100 }

// mailDate is when a mail was written: the date in its header, else when the first
// server received it, else the date in the mailbox.
func mailDate(h header, separator string, loc *time.Location) time.Time {
	for _, v := range h["date"] {
		if t := date(decodeWords(v), loc); !t.IsZero() {
			return t
		}
	}
	for _, name := range []string{"received", "delivery-date", "x-received", "resent-date"} {
		for i := len(h[name]) - 1; i >= 0; i-- {
			v := unfold(h[name][i])
			if t := date(v[strings.LastIndexByte(v, ';')+1:], loc); !t.IsZero() {
				return t
			}
		}
	}
	if _, rest, ok := strings.Cut(strings.TrimPrefix(separator, "From "), " "); ok {
		return date(rest, loc)
	}
	return time.Time{}
}

var (
	dateISO   = regexp.MustCompile(`\b((?:19|20)\d\d)[-/.](\d\d?)[-/.](\d\d?)(?:T|\b)`)
	dateName  = regexp.MustCompile(`(?:^|\D)((?:19|20)\d\d)([-_.]?)([01]\d)([-_.]?)([0-3]\d)(?:\D|$)`)
	dateDay   = regexp.MustCompile(`(?i)\b(\d{1,2})(?:st|nd|rd|th|\.)?[ -]+(?:of )?(\p{L}{3,9})\.?,?[ -]+(\d{4}|\d\d)\b`)
	dateMonth = regexp.MustCompile(`(?i)\b(\p{L}{3,9})\.? +(\d{1,2})(?:st|nd|rd|th)?,?(?: +(\d\d?:\d\d(?::\d\d)?)(?: +[a-z]{2,5}| +[+-]\d{4})?)?,? +(\d{4})\b`)
	clock     = regexp.MustCompile(`(?i)(\d{1,2})[:.](\d\d)(?:[:.](\d\d)(?:\.\d+)?)?(?: *([ap])\.?m\b)?`)
	zone      = regexp.MustCompile(`(?i)(?:^|[\s\d])(?:([+-])(\d\d):?(\d\d)\b|(z|ut|utc|gmt|est|edt|cst|cdt|mst|mdt|pst|pdt|cet|cest|bst|jst)\b)`)
)

// date finds a date in text, in any form that people and programs write. It is in the
// zone that the text names, else in loc. It is zero if there is none.
func date(s string, loc *time.Location) time.Time {
	s = strings.TrimSpace(s)
	if s == "" || len(s) > 200 {
		return time.Time{}
	}
	var year, day string
	var month time.Month
	var rest string
	if m := dateISO.FindStringSubmatchIndex(s); m != nil {
		n, _ := strconv.Atoi(s[m[4]:m[5]])
		year, month, day, rest = s[m[2]:m[3]], time.Month(n), s[m[6]:m[7]], s[m[1]:]
	} else if m := dateDay.FindStringSubmatchIndex(s); m != nil {
		day, month, year, rest = s[m[2]:m[3]], monthOf(s[m[4]:m[5]]), s[m[6]:m[7]], s[m[1]:]
	}
	if month == 0 {
		m := dateMonth.FindStringSubmatchIndex(s)
		if m == nil {
			return time.Time{}
		}
		month, day, year, rest = monthOf(s[m[2]:m[3]]), s[m[4]:m[5]], s[m[8]:m[9]], s[m[5]:]
	}
	return assemble(year, month, day, rest, loc)
}

// assemble builds a time from the parts of a day and the text behind them, which may
// hold a time of day and a zone.
func assemble(year string, month time.Month, day, rest string, loc *time.Location) time.Time {
	y, _ := strconv.Atoi(year)
	if len(year) == 2 {
		if y += 1900; y < 1970 {
			y += 100
		}
	}
	d, _ := strconv.Atoi(day)
	if month < 1 || month > 12 || d < 1 || d > time.Date(y, month+1, 0, 0, 0, 0, 0, time.UTC).Day() {
		return time.Time{}
	}
	var hour, minute, second int
	if m := clock.FindStringSubmatchIndex(rest); m != nil && m[0] < 30 {
		part := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return rest[m[2*i]:m[2*i+1]]
		}
		hour, _ = strconv.Atoi(part(1))
		minute, _ = strconv.Atoi(part(2))
		second, _ = strconv.Atoi(part(3))
		switch half := strings.ToLower(part(4)); {
		case half == "p" && hour < 12:
			hour += 12
		case half == "a" && hour == 12:
			hour = 0
		}
		if hour > 23 || minute > 59 || second > 60 {
			hour, minute, second = 0, 0, 0
		} else if z := zoneOf(rest[m[3]:]); z != nil { // digits may stand right before the zone
			loc = z
		}
	}
	t := time.Date(y, month, d, hour, minute, second, 0, loc)
	if !sane(t) {
		return time.Time{}
	}
	return t
}

// zoneOf reads "+0100", "GMT" and the like. It returns nil if there is none.
func zoneOf(s string) *time.Location {
	m := zone.FindStringSubmatch(s)
	switch {
	case m == nil:
		return nil
	case m[4] == "":
		hours, _ := strconv.Atoi(m[2])
		minutes, _ := strconv.Atoi(m[3])
		if hours > 14 || minutes > 59 {
			return nil
		}
		off := hours*3600 + minutes*60
		if m[1] == "-" {
			off = -off
		}
		return time.FixedZone("", off)
	}
	hours := map[string]int{
		"est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7, "mdt": -6, "pst": -8, "pdt": -7,
		"cet": 1, "cest": 2, "bst": 1, "jst": 9,
	}[strings.ToLower(m[4])]
	return time.FixedZone("", hours*3600)
}

// monthOf knows the months in the languages in which mail programs write dates. It
// returns 0 for other words.
func monthOf(s string) time.Month {
	s = strings.ToLower(s)
	if len(s) < 3 {
		return 0
	}
	for i, names := range months {
		for _, name := range names {
			if s == name || strings.HasPrefix(name, s) && len(s) >= 3 || strings.HasPrefix(s, name) && len(name) >= 4 {
				return time.Month(i + 1)
			}
		}
	}
	return 0
}

var months = [12][]string{
	{"january", "januar", "janvier", "enero", "gennaio", "janeiro"},
	{"february", "februar", "fevrier", "février", "febrero", "febbraio", "fevereiro"},
	{"march", "märz", "maerz", "mars", "marzo", "março", "maart", "mrz"},
	{"april", "avril", "abril", "aprile"},
	{"may", "mai", "mayo", "maggio", "maio", "mei"},
	{"june", "juni", "juin", "junio", "giugno", "junho"},
	{"july", "juli", "juillet", "julio", "luglio", "julho"},
	{"august", "août", "aout", "agosto", "augustus"},
	{"september", "septembre", "septiembre", "settembre", "setembro"},
	{"october", "oktober", "octobre", "octubre", "ottobre", "outubro"},
	{"november", "novembre", "noviembre", "novembro"},
	{"december", "dezember", "décembre", "decembre", "diciembre", "dicembre", "dezembro"},
}

// nameDate finds the date in a file name: "2025-03-20-review.vtt",
// "GMT20250320-150000_Recording.vtt".
func nameDate(name string, loc *time.Location) (t time.Time, rest string) {
	m := dateName.FindStringSubmatchIndex(name)
	if m == nil || name[m[4]:m[5]] != name[m[8]:m[9]] {
		return time.Time{}, name
	}
	month, _ := strconv.Atoi(name[m[6]:m[7]])
	t = assemble(name[m[2]:m[3]], time.Month(month), name[m[10]:m[11]], "", loc)
	if t.IsZero() {
		return t, name
	}
	return t, name[:m[2]] + name[m[11]:]
}
