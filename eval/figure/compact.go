package figure

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

var (
	svgStyle  = regexp.MustCompile(`\sstyle="([^"]*)"`)
	svgNumber = regexp.MustCompile(`-?[0-9]+\.[0-9]+`)
	svgPath   = regexp.MustCompile(`^<path d="([^"]*)"( class="[^"]*")? />$`)
	svgStep   = regexp.MustCompile(`([ML])(-?[0-9.]+),(-?[0-9.]+)`)
	svgPlace  = regexp.MustCompile(` (x|y|width|height)="[^"]*"`)
)

// compact makes what vgsvg wrote several times smaller. It names each style once, joins
// neighbouring paths of one style, and rounds coordinates to a tenth of a point.
func compact(svg string) string {
	svg = strings.ReplaceAll(svg, "\n\t", " ")
	var rules strings.Builder
	classes := map[string]string{}
	svg = svgStyle.ReplaceAllStringFunc(svg, func(found string) string {
		style := svgStyle.FindStringSubmatch(found)[1]
		if classes[style] == "" {
			classes[style] = fmt.Sprintf("s%d", len(classes))
			fmt.Fprintf(&rules, ".%s{%s}", classes[style], style)
		}
		return ` class="` + classes[style] + `"`
	})
	var out []string
	class, joined := "", 0 // of the last line, if it is a path
	for line := range strings.SplitSeq(svg, "\n") {
		if path := svgPath.FindStringSubmatch(line); path != nil {
			d := shortPath(path[1])
			if last := len(out) - 1; joined > 0 && class == path[2] {
				out[last] = strings.Replace(out[last], `"`+path[2]+"/>", d+`"`+path[2]+"/>", 1)
			} else {
				out = append(out, `<path d="`+d+`"`+path[2]+"/>")
			}
			class, joined = path[2], joined+1
			continue
		}
		joined = 0
		if strings.HasPrefix(line, "<text") || strings.HasPrefix(line, "<image") {
			line = svgPlace.ReplaceAllStringFunc(line, func(s string) string { return svgNumber.ReplaceAllStringFunc(s, tenth) })
		}
		out = append(out, line)
		if strings.HasPrefix(line, "<svg") {
			out = append(out, "<style>"+rules.String()+"</style>")
		}
	}
	return strings.Join(out, "\n")
}

// shortPath writes steps along an axis with one coordinate.
func shortPath(d string) string {
	if strings.ContainsAny(d, "ACQ") { // a step from a curve begins elsewhere
		return svgNumber.ReplaceAllStringFunc(d, tenth)
	}
	x, y := "", ""
	return svgStep.ReplaceAllStringFunc(d, func(step string) string {
		s := svgStep.FindStringSubmatch(step)
		toX, toY, move := tenth(s[2]), tenth(s[3]), s[1] == "M"
		fromX, fromY := x, y
		x, y = toX, toY
		switch {
		case !move && toX == fromX && toY == fromY:
			return ""
		case !move && toX == fromX:
			return "V" + toY
		case !move && toY == fromY:
			return "H" + toX
		}
		return s[1] + toX + "," + toY
	})
}

func tenth(number string) string {
	x, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return number
	}
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64)
}
