package measure

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// number is an amount, in digits or words.
type number struct {
	value   float64
	unit    string // $, €, £ or %; empty: not said
	ordinal bool   // 28th, twenty-eighth
	bare    bool   // it counts nothing: 9, not 9 people
	weak    bool   // one or first, which often count nothing
}

func (n number) isWeak() bool { return n.weak }

func (n number) same(m number) bool {
	return math.Abs(n.value-m.value) <= 1e-9*math.Max(math.Abs(n.value), math.Abs(m.value)) &&
		(n.unit == m.unit || n.unit == "" || m.unit == "")
}

// figure is a number in digits: sign, currency, digits, suffix.
var figure = regexp.MustCompile(`^(-?)([$€£]?)(-?)(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(%|[a-z]*)$`)

// readNumber reads the number at the start of the tokens. It returns how many tokens it
// used, and a unit directly after the digits (5km).
func readNumber(ls []token) (n number, unit string, used int) {
	if n, unit, ok := inDigits(ls[0].text); ok {
		used = 1
		if f := 0.0; unit == "" && !ls[0].end && len(ls) > 1 {
			if f = scales[ls[1].lower]; f > 1 {
				n.value *= f
				used = 2
			}
		}
		return withUnit(n, ls, used, unit)
	}
	n, used = inWords(ls)
	if used == 0 {
		return number{}, "", 0
	}
	return withUnit(n, ls, used, "")
}

// withUnit reads a currency or per cent after a number.
func withUnit(n number, ls []token, used int, unit string) (number, string, int) {
	if unit == "" && n.unit == "" && used < len(ls) && !ls[used-1].end {
		if w := ls[used].lower; w == "cents" || w == "cent" {
			n.value, n.weak = n.value/100, false
			return n, "", used + 1
		}
		if u := units[ls[used].lower]; u != "" {
			n.unit, n.weak = u, false
			used++
			if u == "%" && ls[used-1].lower == "per" {
				if used < len(ls) && ls[used].lower == "cent" {
					return n, "", used + 1
				}
				n.unit = ""
				return n, "", used - 1
			}
		}
	}
	return n, unit, used
}

func inDigits(w string) (n number, unit string, ok bool) {
	m := figure.FindStringSubmatch(strings.ToLower(w))
	if m == nil {
		return number{}, "", false
	}
	v, err := strconv.ParseFloat(strings.ReplaceAll(m[4], ",", ""), 64)
	if err != nil {
		return number{}, "", false
	}
	if m[1]+m[3] != "" {
		v = -v
	}
	n = number{value: v, unit: m[2]}
	switch suffix := m[5]; {
	case suffix == "":
	case suffix == "%":
		n.unit = "%"
	case suffix == "st" || suffix == "nd" || suffix == "rd" || suffix == "th":
		n.ordinal = true
	case suffix == "k":
		n.value *= 1e3
	case suffix == "bn" || n.unit != "" && suffix == "b":
		n.value *= 1e9
	case (n.unit != "" || strings.HasSuffix(w, "M")) && (suffix == "m" || suffix == "mm" || suffix == "mn"):
		n.value *= 1e6
	case in(joined, suffix):
		unit = suffix
	default:
		return number{}, "", false // a code
	}
	return n, unit, true
}

// inWords reads forty-six thousand, two hundred and five.
func inWords(ls []token) (n number, used int) {
	total, part, last := 0.0, 0.0, 0.0 // last: the latest number word below 100
	for used < len(ls) && !n.ordinal && (used == 0 || !ls[used-1].end) {
		w := ls[used].lower
		v, ordinal, ok := small(w)
		scale := scales[w]
		switch {
		case ok && (used == 0 || last == 0 || last >= 20 && 0 < v && v < 10):
			part, last, n.ordinal = part+v, v, ordinal
		case scale > 0 && used == 0:
			part, last = scale, 0
		case scale > 0 && scale < 1000 && 0 < part && part < 100:
			part, last = part*scale, 0
		case scale >= 1000 && part > 0:
			total, part, last = total+part*scale, 0, 0
		case w == "and" && used > 0 && last == 0 && used+1 < len(ls):
			if _, _, ok := small(ls[used+1].lower); !ok {
				n.value = total + part
				return n, used
			}
		default:
			n.value = total + part
			n.weak = used == 1 && (n.ordinal || n.value == 1)
			return n, used
		}
		used++
	}
	n.value = total + part
	n.weak = used == 1 && (n.ordinal || n.value == 1)
	return n, used
}

// small is the value of a number word below 100, and whether it is an ordinal.
func small(w string) (value float64, ordinal, ok bool) {
	for i, list := range [][]string{ones, firsts} {
		for v, o := range list {
			if o == w {
				return float64(v), i == 1, true
			}
		}
	}
	for i, list := range [][]string{tens, tenths} {
		for v, o := range list {
			if o == w {
				return float64(20 + 10*v), i == 1, true
			}
		}
	}
	return 0, false, false
}
