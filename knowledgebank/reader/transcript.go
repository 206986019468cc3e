package reader

import (
	"context"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/percached/percached/knowledgebank"
)

// cue is one entry of a transcript.
type cue struct {
	from, to time.Duration
	lines    []utterance
}

type utterance struct{ speaker, text string }

var (
	cueTime = regexp.MustCompile(`^\s*(?:(\d{1,4}):)?(\d{1,2}):(\d\d)[.,](\d{1,3})\s+-->\s+(?:(\d{1,4}):)?(\d{1,2}):(\d\d)[.,](\d{1,3})(?:\s|$)`)
	cueTag  = regexp.MustCompile(`<(/?)([a-zA-Z]*)([^<>]*)>|\{\\[^{}]*\}`)
	named   = regexp.MustCompile(`^(?:>>\s*)?(\p{Lu}[\p{L}\p{M}\p{N}.'’_-]*(?: (?:\p{L}[\p{L}\p{M}.'’-]*|\d{1,3}|\([\p{L} ]{1,20}\))){0,3}): +(\S.*)$`)
	within  = regexp.MustCompile(`^(?:\d+:)?\d\d?:\d\d[.,]\d{1,3}$`) // a time inside a cue
	index   = regexp.MustCompile(`^\d{1,7}$`)
	inHead  = regexp.MustCompile(`(?i)^(kind|language|region|style|x-timestamp-map)\b.*[:=]`)
)

// transcript reads a WebVTT or SRT file.
func (f *file) transcript(ctx context.Context, s *knowledgebank.Source, text string) (title string) {
	s.Format, s.Source = "transcript", "meeting"
	cues, head, notes := readCues(ctx, clean(text))
	name := stem(f.base)
	when, rest := nameDate(name, f.o.Location)
	for _, t := range append([]string{head}, notes...) {
		if d := date(t, f.o.Location); !d.IsZero() {
			when = d
			break
		}
	}
	s.Date = when
	s.Blocks = turns(cues)
	return or(head, titleOf(rest, name))
}

// titleOf makes a title from a file name without its date.
func titleOf(rest, name string) string {
	var words []string
	for _, w := range strings.FieldsFunc(rest, func(r rune) bool { return strings.ContainsRune("-_ .", r) }) {
		switch strings.ToLower(w) {
		case "gmt", "recording", "transcript", "captions", "cc": // programs write these
			continue
		}
		if rest != name && len(w) == 6 && strings.Trim(w, "0123456789") == "" {
			continue // the time behind the date
		}
		words = append(words, w)
	}
	title := strings.Join(words, " ")
	if wordless(title) {
		if rest != name {
			return "Meeting"
		}
		return oneLine(name)
	}
	r := []rune(title)
	r[0] = unicode.ToUpper(r[0])
	return oneLine(string(r))
}

// readCues reads WebVTT and SRT, which differ little. It returns the text behind
// WEBVTT, and the comments, too.
func readCues(ctx context.Context, text string) (cues []cue, head string, notes []string) {
	lines := strings.Split(text, "\n")
	i := 0
	if rest, ok := strings.CutPrefix(strings.TrimSpace(lines[0]), "WEBVTT"); ok {
		head = strings.Trim(rest, " -–—:")
		for i = 1; i < len(lines) && strings.TrimSpace(lines[i]) != "" && !cueTime.MatchString(lines[i]); i++ {
			if l := strings.TrimSpace(lines[i]); !inHead.MatchString(l) {
				notes = append(notes, l)
			}
		}
	}
	var here *cue
	comments := i > 0 // SRT has none: there NOTE is a word
	for n := 0; i < len(lines); i++ {
		if n++; ended(ctx, n) {
			break
		}
		l := strings.TrimSpace(lines[i])
		if m := cueTime.FindStringSubmatch(lines[i]); m != nil {
			cues = append(cues, cue{from: moment(m[1:5]), to: moment(m[5:9])})
			here = &cues[len(cues)-1]
			continue
		}
		switch first, _, _ := strings.Cut(l, " "); {
		case l == "":
			// A cue may contain a blank line. The lines behind it are then not the name
			// of a cue.
			next := skipBlank(lines, i)
			if here != nil && len(here.lines) > 0 && beginsCue(lines, next, comments) {
				here = nil
			}
			i = next - 1
			continue
		case here == nil && comments && (first == "NOTE" || l == "STYLE" || l == "REGION"):
			for ; i < len(lines) && strings.TrimSpace(lines[i]) != ""; i++ {
				if first == "NOTE" {
					notes = append(notes, strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(lines[i]), "NOTE")))
				}
			}
			continue
		case here == nil, i+1 < len(lines) && cueTime.MatchString(lines[i+1]) && index.MatchString(l):
			continue // the name of the next cue
		}
		here.lines = append(here.lines, voices(l)...)
	}
	return cues, head, notes
}

// beginsCue reports whether a cue or a comment begins at line i, or nothing follows.
func beginsCue(lines []string, i int, comments bool) bool {
	if i >= len(lines) || cueTime.MatchString(lines[i]) {
		return true
	}
	l := strings.TrimSpace(lines[i])
	if comments && (l == "NOTE" || l == "STYLE" || strings.HasPrefix(l, "NOTE ")) {
		return true
	}
	return i+1 < len(lines) && cueTime.MatchString(lines[i+1])
}

func moment(m []string) time.Duration {
	var n [4]int
	for i, s := range m {
		n[i], _ = strconv.Atoi(s)
	}
	for range 3 - len(m[3]) {
		n[3] *= 10
	}
	return time.Duration(n[0])*time.Hour + time.Duration(n[1])*time.Minute + time.Duration(n[2])*time.Second + time.Duration(n[3])*time.Millisecond
}

// voices removes the tags from a line. A tag <v Ana Ruiz> names the speaker of what
// follows.
func voices(l string) []utterance {
	var out []utterance
	var b strings.Builder
	speaker := ""
	flush := func() {
		if text := squeezeLine(clean(html.UnescapeString(b.String()))); text != "" {
			out = append(out, utterance{speaker, text})
		}
		b.Reset()
	}
	for l != "" {
		m := cueTag.FindStringSubmatchIndex(l)
		if m == nil {
			b.WriteString(l)
			break
		}
		b.WriteString(l[:m[0]])
		tag := ""
		if m[4] >= 0 {
			tag = l[m[4]:m[5]]
		}
		if strings.EqualFold(tag, "v") && (m[6] == m[7] || strings.ContainsRune(" .", rune(l[m[6]]))) {
			flush()
			if speaker = ""; m[2] == m[3] { // not an end tag
				rest := l[m[6]:m[7]]
				if strings.HasPrefix(rest, ".") { // classes
					_, rest, _ = strings.Cut(rest, " ")
				}
				speaker = oneLine(html.UnescapeString(rest))
			}
		} else if strings.EqualFold(tag, "br") && marksUp(tag, l[m[6]:m[7]]) {
			b.WriteByte(' ')
		} else if m[4] >= 0 && !marksUp(tag, l[m[6]:m[7]]) {
			b.WriteString(l[m[0]:m[1]])
		}
		l = l[m[1]:]
	}
	flush()
	return out
}

// turnList is a list of turns. The last one may continue.
type turnList struct {
	turns []knowledgebank.Block
	parts []string // of the last turn's text
	words int      // of the last turn
}

func (t *turnList) begin(b knowledgebank.Block) {
	t.end()
	t.turns, t.parts, t.words = append(t.turns, b), nil, 0
	t.goOn(b.Text)
}

func (t *turnList) goOn(text string) {
	t.parts = append(t.parts, text)
	t.words += 1 + strings.Count(text, " ")
}

func (t *turnList) end() []knowledgebank.Block {
	if n := len(t.turns); n > 0 {
		t.turns[n-1].Text = strings.Join(t.parts, " ")
	}
	return t.turns
}

// enough reports whether the text of an unknown speaker is long enough for a paragraph.
func (t *turnList) enough() bool {
	last := t.parts[len(t.parts)-1]
	return t.words > 151 || t.words > 51 && strings.ContainsAny(last[len(last)-1:], ".!?")
}

// turns merges cues into what one speaker says at a time.
func turns(cues []cue) []knowledgebank.Block {
	names := speakers(cues)
	var out turnList
	var end time.Duration
	last, by := "", "" // the last line and who said it, for captions that roll
	for _, c := range cues {
		from := c.from
		speaker := "" // goes on within a cue
		for i, s := range c.lines {
			if s.speaker == "" && names != nil {
				if m := named.FindStringSubmatch(s.text); m != nil && names[m[1]] {
					s.speaker, s.text = m[1], m[2]
				}
			}
			if s.speaker == "" && i > 0 {
				s.speaker = speaker
			}
			speaker = s.speaker
			if s.text == last && from <= end+50*time.Millisecond && (len(c.lines) > 1 || names == nil) && (s.speaker == by || s.speaker == "") {
				continue
			}
			last, by = s.text, s.speaker
			n := len(out.turns)
			if n > 0 && (out.turns[n-1].Speaker == s.speaker || s.speaker == "" && names == nil) && !(s.speaker == "" && out.enough()) {
				out.goOn(s.text)
				continue
			}
			out.begin(knowledgebank.Block{Speaker: s.speaker, At: clockOf(from), Text: s.text})
		}
		end = max(end, c.to)
	}
	return out.end()
}

// speakers finds the words before colons that are names: those that occur again, or all
// if most cues have one. It returns nil if the file marks speakers in another way.
func speakers(cues []cue) map[string]bool {
	count, total := map[string]int{}, 0
	for _, c := range cues {
		for i, s := range c.lines {
			if s.speaker != "" {
				return nil
			}
			if m := named.FindStringSubmatch(s.text); m != nil {
				count[m[1]]++
				if i == 0 {
					total++
				}
			}
		}
	}
	out := map[string]bool{}
	for name, n := range count {
		if n > 1 || total*2 >= len(cues) {
			out[name] = true
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func clockOf(d time.Duration) string {
	s := int(d / time.Second)
	return fmt.Sprintf("%02d:%02d:%02d", s/3600, s/60%60, s%60)
}

// cueTags are the tags of both formats, and tags of HTML that programs leave.
var cueTags = map[string]bool{
	"c": true, "i": true, "b": true, "u": true, "v": true, "s": true, "lang": true, "ruby": true, "rt": true, "rp": true, "rb": true,
	"font": true, "em": true, "strong": true, "span": true, "p": true, "div": true, "br": true, "a": true, "img": true, "sub": true,
	"sup": true, "small": true, "big": true, "strike": true, "del": true, "ins": true, "tt": true, "center": true, "body": true,
}

// marksUp reports whether the text between < and > is a tag or a time. These are text:
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
