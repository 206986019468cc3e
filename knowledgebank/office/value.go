package office

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// numberFormat says how a cell shows a number.
type numberFormat struct {
	date, clock      bool
	day, month, year bool
	elapsed          bool // hours beyond 24, as [h]:mm shows them
	decimals         int
	width            int  // least digits before the point
	fixed            bool // it has a number of decimals; otherwise as many as needed
	grouped          bool
	percent          bool
	exponent         bool
	before, behind   string // a currency or a unit
}

// readFormats reads the formats of cells.
func (w *workbook) readFormats(part string) error {
	codes := map[int]string{}
	return w.a.each(part, func(x *scan, _ element) error {
		return x.children(func(e element) error {
			switch e.name {
			case "numFmts":
				return x.children(func(e element) error {
					if len(codes) < maxEntries {
						codes[whole(e.get("numFmtId"))] = e.get("formatCode")
					}
					return nil
				}, nil)
			case "cellXfs":
				return x.children(func(e element) error {
					id := whole(e.get("numFmtId"))
					code, own := codes[id]
					if !own {
						code = builtin(id)
					}
					if len(w.formats) < 1<<16 {
						w.formats = append(w.formats, parseFormat(code))
					}
					return nil
				}, nil)
			}
			return nil
		}, nil)
	})
}

// builtin is the code of a format that every workbook has.
func builtin(id int) string {
	switch {
	case id == 1:
		return "0"
	case id == 2:
		return "0.00"
	case id == 3, id == 37, id == 38:
		return "#,##0"
	case id == 4, id == 39, id == 40:
		return "#,##0.00"
	case id == 9:
		return "0%"
	case id == 10:
		return "0.00%"
	case id == 11, id == 48:
		return "0.00E+00"
	case id == 14 || id == 15 || id >= 27 && id <= 31 || id == 36 || id >= 50 && id <= 54 || id >= 57 && id <= 58:
		return "d/m/yyyy"
	case id == 16:
		return "d-mmm"
	case id == 17:
		return "mmm-yy"
	case id >= 18 && id <= 21 || id >= 32 && id <= 35:
		return "h:mm"
	case id == 22:
		return "d/m/yyyy h:mm"
	case id == 45 || id == 47:
		return "mm:ss"
	case id == 46:
		return "[h]:mm:ss"
	}
	return ""
}

// parseFormat reads the part of a format code that is for numbers above 0.
func parseFormat(code string) (f numberFormat) {
	const longest = 255
	code = code[:min(len(code), longest)]
	var literal strings.Builder // a currency or a unit; f.before until a digit comes
	digits, point, slash := false, false, false
	for i := 0; i < len(code); i++ {
		switch c := code[i]; c {
		case ';':
			i = len(code)
		case '"':
			end := strings.IndexByte(code[i+1:], '"')
			if end < 0 {
				end = len(code) - i - 1
			}
			literal.WriteString(code[i+1 : i+1+end])
			i += end + 1
		case '\\':
			if i++; i < len(code) {
				literal.WriteByte(code[i])
			}
		case '_', '*': // a gap as wide as the next character
			i++
		case '[':
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				return f
			}
			f.bracket(code[i+1:i+end], &literal)
			i += end
		case '0', '#', '?':
			if !digits {
				f.before = literal.String()
				literal.Reset()
			}
			digits = true
			switch {
			case f.exponent:
				continue
			case point:
				f.decimals++
			case c == '0':
				f.width++
			}
			f.fixed = true
		case '.':
			point = digits
		case ',':
			f.grouped = f.grouped || digits && !point
		case '%':
			f.percent = true
		case 'E', 'e':
			if digits {
				f.exponent = true
			} else {
				f.year, f.date = true, true
			}
		case 'y', 'Y':
			f.year, f.date = true, true
		case 'd', 'D':
			f.day, f.date = true, true
		case 'h', 'H', 's', 'S':
			f.clock = true
		case 'm', 'M':
			f.month = true // or minutes, beside hours or seconds
		case 'G', 'g':
			if strings.HasPrefix(strings.ToLower(code[i:]), "general") {
				i += len("general") - 1
			}
		case '/':
			slash = true
		case '@', '+', '-', '(', ')', ':':
		case 'A', 'a':
			for _, half := range []string{"am/pm", "a/p"} {
				if strings.HasPrefix(strings.ToLower(code[i:]), half) {
					i += len(half) - 1
				}
			}
		default:
			literal.WriteByte(c)
		}
	}
	f.date = f.date || f.month && !f.clock
	f.behind = literal.String()
	if f.date || f.clock || !digits {
		f.before, f.behind, f.fixed = "", "", false
	}
	f.fixed = f.fixed && !slash // a fraction
	f.decimals, f.width = min(f.decimals, 15), min(f.width, 20)
	return f
}

// bracket reads "[$€-407]", "[h]" and others.
func (f *numberFormat) bracket(inside string, literal *strings.Builder) {
	if sign, ok := strings.CutPrefix(inside, "$"); ok {
		sign, _, _ = strings.Cut(sign, "-")
		literal.WriteString(sign)
		return
	}
	switch strings.Trim(strings.ToLower(inside), "hms") {
	case "":
		f.clock, f.elapsed = true, true
	}
}

// show is a number as the cell shows it. since is the day 0 of dates.
func (f numberFormat) show(raw string, since time.Time) string {
	v, err := strconv.ParseFloat(raw, 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return raw
	}
	const lastDay = 2_958_466 // in the year 9999
	if (f.date || f.clock) && v >= 0 && v < lastDay {
		return f.showDate(v, since)
	}
	return f.showNumber(v)
}

func (f numberFormat) showDate(v float64, since time.Time) string {
	const day = 24 * 60 * 60
	seconds := int64(math.Round(v * day))
	if f.elapsed {
		s := strconv.FormatInt(seconds/3600, 10) + ":" + twoDigits(seconds/60%60)
		if seconds%60 > 0 {
			s += ":" + twoDigits(seconds%60)
		}
		return s
	}
	if v < 60 && f.date && since.Year() < 1904 {
		seconds += day // Excel counts a 29 February in 1900
	}
	t := since.AddDate(0, 0, int(seconds/day)).Add(time.Duration(seconds%day) * time.Second)
	return dateText(t, f.date && (f.day || !f.month), f.date && (f.month || f.day), f.date, f.clock)
}

// dateText is a date in words, as it means the same everywhere.
func dateText(t time.Time, day, month, year, clock bool) string {
	var layout []string
	if day && month {
		layout = append(layout, "2")
	}
	if month {
		layout = append(layout, "January")
	}
	if year {
		layout = append(layout, "2006")
	}
	if clock {
		if t.Second() == 0 {
			layout = append(layout, "15:04")
		} else {
			layout = append(layout, "15:04:05")
		}
	}
	return t.Format(strings.Join(layout, " "))
}

func twoDigits(n int64) string {
	s := strconv.FormatInt(n, 10)
	if len(s) < 2 {
		s = "0" + s
	}
	return s
}

func (f numberFormat) showNumber(v float64) string {
	if f.percent {
		v *= 100
	}
	var s string
	switch {
	case f.exponent:
		s = strconv.FormatFloat(v, 'E', f.decimals, 64)
	case f.fixed && math.Abs(v) < 1e15:
		s = strconv.FormatFloat(v+v*1e-15, 'f', f.decimals, 64) // 2.005 is 2.01, as for people
	default:
		// Sums of decimals are rarely exact: 0.1 + 0.2 is shown as 0.3.
		s = strconv.FormatFloat(v, 'g', 15, 64)
		if short, err := strconv.ParseFloat(s, 64); err == nil {
			if s = strconv.FormatFloat(short, 'f', -1, 64); len(s) > 21 {
				s = strconv.FormatFloat(short, 'g', -1, 64)
			}
		}
	}
	if whole, _, _ := strings.Cut(s, "."); f.fixed && len(whole) < f.width && !strings.HasPrefix(s, "-") {
		s = strings.Repeat("0", f.width-len(whole)) + s
	}
	if f.grouped {
		s = group(s)
	}
	if f.percent {
		s += "%"
	}
	sign := ""
	if f.before != "" && strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	return strings.TrimSpace(sign + f.before + s + f.behind)
}

// group puts commas between thousands.
func group(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	n := strings.IndexAny(s, ".e")
	if n < 0 {
		n = len(s)
	}
	var out strings.Builder
	out.WriteString(sign)
	for i := range n {
		if i > 0 && (n-i)%3 == 0 {
			out.WriteByte(',')
		}
		out.WriteByte(s[i])
	}
	out.WriteString(s[n:])
	return out.String()
}
