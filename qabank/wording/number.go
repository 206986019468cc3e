package wording

import (
	"strconv"
	"strings"
	"unicode"
)

// class is what sort of thing a word names.
type class uint8

const (
	content class = iota
	number
	date
	name
	scope
	negation
	person
)

// item is a word on its way from token to meaning.
type item struct {
	raw   string
	key   string // lemma, later the name of its group
	class class
	form  form
	comma bool
	fixed bool // made by rule: no lemma, no group
}

func fixed(t token, key string, c class) item {
	return item{raw: t.raw, key: key, class: c, comma: t.comma, fixed: true}
}

const (
	ones = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
	tens = "twenty thirty forty fifty sixty seventy eighty ninety"
	nths = "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
	ties = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth"
)

// at is the place of a word in one of the lists of number words and dates, or -1.
func at(list, w string) int {
	if i, ok := english().places[list][w]; ok {
		return i
	}
	return -1
}

// small is the value of a number word below 100, and whether it is an ordinal.
func small(w string) (n int, ordinal, ok bool) {
	if n := at(ones, w); n >= 0 {
		return n, false, true
	}
	if n := at(tens, w); n >= 0 {
		return 20 + 10*n, false, true
	}
	if n := at(nths, w); n > 0 {
		return n, true, true
	}
	if n := at(ties, w); n >= 0 {
		return 20 + 10*n, true, true
	}
	return 0, false, false
}

func scale(w string) float64 {
	switch w {
	case "hundred":
		return 100
	case "thousand":
		return 1000
	case "million":
		return 1e6
	case "billion":
		return 1e9
	}
	return 0
}

// spelled reads a number written in words from the tokens' start.
func spelled(t []token) (it item, n int, ok bool) {
	total, part, ordinal, any := 0.0, 0.0, false, false
	last := -1 // value of the word before, if below 100
	for n < len(t) && !ordinal && !t[n].name {
		w := t[n].raw
		if any && w == "and" && n+1 < len(t) && last < 0 && below100(t[n+1].raw) {
			n++
			continue
		}
		if v, ord, ok := small(w); ok {
			if last >= 0 && (last < 20 || last%10 != 0 || v > 9) {
				break
			}
			part += float64(v)
			last, ordinal, any = v, ord, true
			n++
			continue
		}
		s := scale(w)
		if s == 0 || !any && s < 1000 && n == 0 && w != "hundred" {
			break
		}
		if !any || part == 0 {
			part = 1
		}
		if part *= s; s >= 1000 {
			total, part = total+part, 0
		}
		last, any = -1, true
		n++
	}
	if !any {
		return item{}, 0, false
	}
	v := strconv.FormatFloat(total+part, 'f', -1, 64)
	if ordinal {
		return fixed(t[0], "nth "+v, number), n, true
	}
	return fixed(t[0], v, number), n, true
}

func below100(w string) bool {
	_, _, ok := small(w)
	return ok
}

var units = map[string]string{
	"$": "dollar", "€": "euro", "£": "pound", "%": "percent", "¥": "yen", "h": "hour", "hrs": "hour", "hr": "hour", "s": "second", "sec": "second",
	"k": "", "m": "metre", "km": "kilometre", "cm": "centimetre", "mm": "millimetre", "kg": "kilogram", "g": "gram", "l": "litre",
	"ml": "millilitre", "min": "minute", "mins": "minute", "gb": "gb", "mb": "mb", "tb": "tb", "kb": "kb", "w": "watt", "kw": "kilowatt", "kwh": "kwh",
	"mph": "mph", "kmh": "kmh", "lb": "lb", "lbs": "lb", "oz": "oz", "ft": "ft", "ha": "hectare", "mg": "milligram", "v": "volt",
}

// figures reads a token with digits: what it is worth and the unit on its end.
func figures(t token) (out []item, ok bool) {
	w := strings.TrimPrefix(t.raw, "-")
	sign := t.raw[:len(t.raw)-len(w)]
	if w == "" || !unicode.IsDigit([]rune(w)[0]) && w[0] != '.' {
		return coded(t, w)
	}
	end := strings.IndexFunc(w, unicode.IsLetter)
	if end < 0 {
		return []item{fixed(t, sign+plainNumber(w), number)}, true
	}
	head, tail := w[:end], w[end:]
	if strings.ContainsAny(head, ":/-") && tail != "am" && tail != "pm" {
		return []item{fixed(t, t.raw, number)}, true
	}
	switch tail {
	case "st", "nd", "rd", "th":
		return []item{fixed(t, "nth "+plainNumber(head), number)}, true
	case "am", "pm", "a.m", "p.m":
		return []item{fixed(t, clock(head, tail[:1]), date)}, true
	case "k":
		if f, err := strconv.ParseFloat(plainNumber(head), 64); err == nil {
			return []item{fixed(t, sign+strconv.FormatFloat(f*1000, 'f', -1, 64), number)}, true
		}
	}
	if u := units[tail]; u != "" {
		return []item{fixed(t, sign+plainNumber(head), number), fixed(token{raw: tail}, u, content)}, true
	}
	return []item{fixed(t, t.raw, number)}, true
}

// coded reads v2 and q3.
func coded(t token, w string) ([]item, bool) {
	if len(w) < 2 || strings.Trim(w[1:], "0123456789.") != "" {
		return nil, false
	}
	switch w[0] {
	case 'v':
		return []item{fixed(t, "version", content), fixed(t, w[1:], number)}, true
	case 'q':
		return []item{fixed(t, "nth "+w[1:], number), fixed(t, "quarter", content)}, true
	}
	return []item{fixed(t, w, number)}, true
}

// plainNumber drops the commas between thousands.
func plainNumber(w string) string {
	parts := strings.Split(w, ",")
	for i, p := range parts {
		whole, _, _ := strings.Cut(p, ".")
		if i > 0 && len(whole) != 3 || i == 0 && len(p) > 3 && len(parts) > 1 {
			return w
		}
	}
	return strings.Join(parts, "")
}

// clock writes a time of day; half is a, p or empty where nothing says which
// half of the day it is.
func clock(w, half string) string {
	hour, minute, _ := strings.Cut(strings.ReplaceAll(w, ".", ":"), ":")
	h, err := strconv.Atoi(hour)
	if err != nil || h > 24 {
		return w + half
	}
	if minute == "" {
		minute = "00"
	}
	switch {
	case half == "p" && h < 12:
		h += 12
	case half == "a" && h == 12:
		h = 0
	case half == "" && h < 13:
		return "clock? " + strconv.Itoa(h) + ":" + minute
	}
	return "clock " + strconv.Itoa(h) + ":" + minute
}

// scaled multiplies a number: 1.2 million.
func scaled(n string, by float64) string {
	f, err := strconv.ParseFloat(n, 64)
	if err != nil {
		return n
	}
	return strconv.FormatFloat(f*by, 'f', -1, 64)
}
