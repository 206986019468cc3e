package grammar

import (
	"math"
	"strconv"
	"strings"
)

// mostInteger bounds integers that a schema leaves without bound.
const mostInteger = 9_999_999_999_999_999

func (s *schemas) number(v *value, kind string) (string, error) {
	low, high := -mostInteger, mostInteger
	bounded := false
	for _, m := range v.members {
		var lower, exclusive bool
		switch m.name {
		case "minimum":
			lower = true
		case "exclusiveMinimum":
			lower, exclusive = true, true
		case "maximum":
		case "exclusiveMaximum":
			exclusive = true
		default:
			continue
		}
		n, err := strconv.ParseFloat(string(m.raw), 64)
		if err != nil {
			return "", unsupported(m.at, "it must be a number")
		}
		if kind == "number" {
			if m.name == "minimum" && n == 0 {
				bounded = true
				continue
			}
			return "", unsupported(m.at, "the keyword %s is supported for integers, and minimum 0 for numbers", m.name)
		}
		bounded = true
		bound := int(math.Max(-mostInteger, math.Min(mostInteger, math.Floor(n))))
		whole := n == math.Floor(n)
		switch {
		case lower && (exclusive || !whole):
			low = max(low, bound+1)
		case lower:
			low = max(low, bound)
		case exclusive && whole:
			high = min(high, bound-1)
		default:
			high = min(high, bound)
		}
	}
	switch {
	case !bounded:
		return kind, nil
	case kind == "number":
		return `("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,15})?`, nil
	case low > high:
		return "", unsupported(v.at, "no integer is within the bounds")
	}
	var parts []string
	if low < 0 {
		parts = append(parts, `"-" (`+integers(max(1, -high), -low)+")")
	}
	if high >= 0 {
		parts = append(parts, integers(max(0, low), high))
	}
	return strings.Join(parts, " | "), nil
}

// integers are the numbers from low to high, none of which is negative.
func integers(low, high int) string {
	var parts []string
	for least := low; least <= high; {
		most := 9 // of as many digits
		for most < least {
			most = most*10 + 9
		}
		most = min(most, high)
		parts = append(parts, digits(strconv.Itoa(least), strconv.Itoa(most)))
		least = most + 1
	}
	return strings.Join(parts, " | ")
}

// digits are the texts between two of equal length.
func digits(low, high string) string {
	n := len(low)
	switch {
	case n == 0:
		return ""
	case low[0] == high[0]:
		return quote(low[:1]) + " " + group(digits(low[1:], high[1:]))
	case n == 1:
		return "[" + low + "-" + high + "]"
	}
	zeros, nines := strings.Repeat("0", n-1), strings.Repeat("9", n-1)
	var parts []string
	from, to := low[0], high[0]
	if low[1:] != zeros {
		parts = append(parts, quote(low[:1])+" "+group(digits(low[1:], nines)))
		from++
	}
	last := ""
	if high[1:] != nines {
		last = quote(high[:1]) + " " + group(digits(zeros, high[1:]))
		to--
	}
	if from <= to {
		parts = append(parts, "["+string(from)+"-"+string(to)+"] [0-9]"+times(n-1, n-1))
	}
	if last != "" {
		parts = append(parts, last)
	}
	return strings.Join(parts, " | ")
}

func group(body string) string {
	if strings.Contains(body, " | ") {
		return "(" + body + ")"
	}
	return body
}
