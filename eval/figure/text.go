package figure

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	xfont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// style is that of text of a size.
func style(size vg.Length, c uint32) text.Style {
	return text.Style{
		Color:   rgb(c),
		Font:    font.Font{Typeface: "Liberation", Variant: "Sans", Size: size},
		Handler: plot.DefaultTextHandler,
	}
}

func bold(size vg.Length, c uint32) text.Style {
	s := style(size, c)
	s.Font.Weight = xfont.WeightBold
	return s
}

// clean makes one line of text of a stranger, without what XML cannot hold.
func clean(s string) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return ' '
		}
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	return strings.Join(strings.Fields(s), " ")
}

// short cuts a name in its middle, as its ends tell it from others.
func short(s string, most int) string {
	r := []rune(clean(s))
	if len(r) <= most {
		return string(r)
	}
	head := most / 2
	return string(r[:head]) + "…" + string(r[len(r)-(most-head-1):])
}

// wrap breaks text into lines that fit a width.
func wrap(s text.Style, txt string, width vg.Length) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(clean(txt)) {
		longer := strings.TrimSpace(line + " " + word)
		if line != "" && s.Width(longer) > width {
			lines, longer = append(lines, line), word
		}
		line = longer
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// fit cuts a name so that it is no wider than it may be.
func fit(s text.Style, txt string, width vg.Length) string {
	n := len([]rune(clean(txt)))
	for n > 4 && s.Width(short(txt, n)) > width {
		n--
	}
	return short(txt, n)
}

// number writes a value with three digits that count.
func number(v float64) string {
	a := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case a == 0:
		return "0"
	case a >= 99.95:
		return thousands(strconv.FormatFloat(v, 'f', 0, 64))
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.9995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case a >= 0.00995:
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// thousands sets commas into a number that is written out.
func thousands(s string) string {
	first := strings.IndexAny(s, "0123456789")
	point := strings.IndexByte(s, '.')
	if point < 0 {
		point = len(s)
	}
	for i := point - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// round sets ticks at round values, some five of them.
type round struct{}

// Ticks is gonum's way of asking for them.
func (round) Ticks(low, high float64) []plot.Tick {
	if !(high > low) {
		return []plot.Tick{{Value: low, Label: number(low)}}
	}
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	for _, times := range []float64{1, 2, 2.5, 5, 10} {
		if (high-low)/(step*times) <= 5 {
			step *= times
			break
		}
	}
	digits := 0
	for p := step; digits < 12 && math.Abs(p-math.Round(p)) > 1e-9*p; p *= 10 {
		digits++
	}
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9; i++ {
		v := i*step + 0 // and not -0
		ticks = append(ticks, plot.Tick{Value: v, Label: thousands(strconv.FormatFloat(v, 'f', digits, 64))})
	}
	return ticks
}
