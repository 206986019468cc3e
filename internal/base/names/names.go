package names

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// most is the maximum length of a name in words.
const most = 4

// notNames are words with a capital letter that are no part of a name: they begin a
// sentence or a greeting, or name a day.
var notNames = strings.Fields(`the a an i we you he she it they this that these those please dear hi hello hey thanks thank
	if when in on at for from to and but or so as my our your his her their its there here what who where why how which yes no
	january february march april may june july august september october november december
	monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun not also re fw fwd cc bcc subject date sent mr mrs ms dr`)

// In lists the names in a text, in order, each once: runs of words that begin with a
// capital letter. A lone word at the beginning of a sentence is none. In a question the
// first word is none either.
func In(text string, question bool) []string {
	var found []string
	var run []string
	begins, lone := true, false // a sentence; the run consists of the first word of one
	end := func() {
		if len(run) > 0 && len(run) <= most && !(lone && len(run) == 1) {
			if n := strings.Join(run, " "); !slices.Contains(found, n) {
				found = append(found, n)
			}
		}
		run, lone = nil, false
	}
	for line := range strings.Lines(text) {
		end()
		begins = true
		for i, word := range strings.Fields(line) {
			core := strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
			core = strings.TrimSuffix(strings.TrimSuffix(core, "'s"), "’s")
			if core == "" {
				end()
				continue
			}
			first, _ := utf8.DecodeRuneInString(core)
			stem, _, _ := strings.Cut(strings.ReplaceAll(strings.ToLower(core), "’", "'"), "'") // I'd, we'll
			named := len(core) > 1 && unicode.IsUpper(first) && !slices.Contains(notNames, stem) && !(question && i == 0)
			if !named || !strings.HasPrefix(word, core) { // a bracket or quotation mark opens
				end()
			}
			if named {
				lone = lone || len(run) == 0 && begins
				run = append(run, core)
			}
			last, _ := utf8.DecodeLastRuneInString(word)
			if named && !strings.HasSuffix(word, core) {
				end()
			}
			begins = strings.ContainsRune(".!?:", last) && utf8.RuneCountInString(core) > 1
		}
	}
	end()
	return found
}
