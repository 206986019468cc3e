package reader

import "strings"

// cueTags are the tags of both forms, and those of HTML that programs leave.
var cueTags = map[string]bool{
	"c": true, "i": true, "b": true, "u": true, "v": true, "s": true, "lang": true, "ruby": true, "rt": true, "rp": true, "rb": true,
	"font": true, "em": true, "strong": true, "span": true, "p": true, "div": true, "br": true, "a": true, "img": true, "sub": true,
	"sup": true, "small": true, "big": true, "strike": true, "del": true, "ins": true, "tt": true, "center": true, "body": true,
}

// marksUp says that what stands between < and > is a tag or a time, and no text:
// "x <3, y> 4", "<ana@example.com>", "read from <stdin>", "a <b and c> d".
func marksUp(tag, rest string) bool {
	value := strings.Trim(rest, " /")
	switch {
	case value == "":
		return cueTags[strings.ToLower(tag)]
	case tag == "":
		return within.MatchString(value)
	case !cueTags[strings.ToLower(tag)] || !strings.ContainsRune(". /", rune(rest[0])):
		return false
	}
	return rest[0] == '.' || strings.Contains(value, "=") || strings.EqualFold(tag, "lang") || strings.EqualFold(tag, "v")
}
