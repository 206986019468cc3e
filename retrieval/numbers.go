package retrieval

import "strings"

// number emits a number that is written with separators in one form:
// "1,185", "1.185" and "$1,185.00" are all found by 1185. It gives false for
// what is no number.
func (c *cutter) number(parts []string, seps []byte) bool {
	for i, p := range parts {
		if !allDigits(p) || i > 0 && seps[i-1] != ',' && seps[i-1] != '.' {
			return false
		}
	}
	n := len(seps)
	last, tail := seps[n-1], parts[n]
	grouped := grouped(parts, seps)
	switch {
	case n == 1 && last == '.':
		c.decimal(parts[:1], tail)
		if grouped { // 1.185 may be either
			c.emit(strings.Join(parts, ""), form)
		}
	case grouped:
		c.emit(strings.Join(parts, ""), plain)
	case n == 1: // 2,5
		c.decimal(parts[:1], tail)
	case last != seps[0] && groupedAs(parts[:n], seps[:n-1], seps[0]):
		c.decimal(parts[:n], tail)
	default:
		return false
	}
	return true
}

func grouped(parts []string, seps []byte) bool { return groupedAs(parts, seps, seps[0]) }

// groupedAs says whether parts are the groups of three of one number.
func groupedAs(parts []string, seps []byte, sep byte) bool {
	for i, p := range parts {
		if i == 0 && (len(p) > 3 || p[0] == '0') || i > 0 && (len(p) != 3 || seps[i-1] != sep) {
			return false
		}
	}
	return true
}

func (c *cutter) decimal(groups []string, fraction string) {
	integer := strings.Join(groups, "")
	if zeros := strings.Trim(fraction, "0") == ""; zeros {
		c.emit(integer, plain)
	}
	c.emit(integer+"."+fraction, plain)
}
