package pdf

import (
	"slices"
	"unicode"
)

// Characters of scripts that run to the left are drawn as they are seen, from
// the left, but read and stored from the right. The turning here is plainer
// than Unicode's own, and made for whole lines.

// leftward says whether a character is of such a script.
func leftward(r rune) bool {
	return r >= 0x590 && r <= 0x8ff || r >= 0xfb1d && r <= 0xfdff || r >= 0xfe70 && r <= 0xfeff
}

// rightward says whether a character stands in runs of its own within such
// text: letters of other scripts and digits.
func rightward(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsDigit(r)) && (!leftward(r) || unicode.IsDigit(r))
}

// logical turns a line as it is seen into the order in which it is read.
func logical(s string) string {
	var left, right int
	for _, r := range s {
		switch {
		case !unicode.IsLetter(r): // numbers stand in both
		case leftward(r):
			left++
		default:
			right++
		}
	}
	if left == 0 {
		return s
	}
	runes := []rune(s)
	if left < right { // a few words in a line that runs to the right
		turnRuns(runes, func(r rune) bool { return leftward(r) && !rightward(r) })
		return string(runes)
	}
	turn(runes)
	turnRuns(runes, rightward)
	return string(runes)
}

// turnRuns turns each run of characters that are of a kind; what stands between
// two of them on the same word or number belongs to it.
func turnRuns(runes []rune, is func(rune) bool) {
	for i := 0; i < len(runes); i++ {
		if !is(runes[i]) {
			continue
		}
		end := i + 1
		for j := end; j < len(runes) && !leftward(runes[j]) == !leftward(runes[i]) || j < len(runes) && neutral(runes[j]); j++ {
			if is(runes[j]) {
				end = j + 1
			}
		}
		slices.Reverse(runes[i:end])
		i = end - 1
	}
}

func neutral(r rune) bool { return !leftward(r) && !rightward(r) }

// turn reverses a line, brackets with it.
func turn(runes []rune) {
	slices.Reverse(runes)
	for i, r := range runes {
		if m, ok := mirrored[r]; ok {
			runes[i] = m
		}
	}
}

var mirrored = map[rune]rune{
	'(': ')', ')': '(', '[': ']', ']': '[', '{': '}', '}': '{', '<': '>', '>': '<', '«': '»', '»': '«',
}
