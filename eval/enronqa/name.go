package enronqa

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longest is how long the name of a file may be, in bytes: percached takes 1000.
const longest = 900

// fileName is what the mail at a place goes by: with its folders, without what no
// file is named on some system, and none of those that are taken.
func fileName(place string, taken map[string]bool) string {
	place = strings.Map(func(c rune) rune {
		switch {
		case c == '\\':
			return '/'
		case unicode.IsControl(c), c == utf8.RuneError, strings.ContainsRune(`<>:"|?*`, c):
			return '_'
		}
		return c
	}, place)
	var parts []string
	for part := range strings.SplitSeq(place, "/") {
		if part = strings.TrimRight(strings.TrimSpace(part), ". "); part != "" {
			parts = append(parts, part)
		}
	}
	name := strings.TrimSuffix(strings.Join(parts, "/"), ".eml")
	if len(name) > longest {
		name = strings.ToValidUTF8(name[len(name)-longest:], "")
		name = strings.TrimLeft(name, "/. ")
	}
	if name == "" {
		name = "mail"
	}
	for n := 1; ; n++ {
		whole := name + ".eml"
		if n > 1 {
			whole = fmt.Sprintf("%s-%d.eml", name, n)
		}
		if !taken[whole] {
			return whole
		}
	}
}
