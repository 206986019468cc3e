package reader

import (
	"fmt"
	"strings"
	"time"

	"github.com/percached/percached/knowledgebank"
)

// talk is turns, the last of which may go on.
type talk struct {
	turns []knowledgebank.Block
	parts []string // of the last one's text
	words int      // of that
}

func (t *talk) begin(b knowledgebank.Block) {
	t.end()
	t.turns, t.parts, t.words = append(t.turns, b), nil, 0
	t.goOn(b.Text)
}

func (t *talk) goOn(text string) {
	t.parts = append(t.parts, text)
	t.words += 1 + strings.Count(text, " ")
}

func (t *talk) end() []knowledgebank.Block {
	if n := len(t.turns); n > 0 {
		t.turns[n-1].Text = strings.Join(t.parts, " ")
	}
	return t.turns
}

// enough says that text of no known speaker is long enough for a paragraph.
func (t *talk) enough() bool {
	last := t.parts[len(t.parts)-1]
	return t.words > 151 || t.words > 51 && strings.ContainsAny(last[len(last)-1:], ".!?")
}

// turns merges cues to what one speaker says at a time.
func turns(cues []cue) []knowledgebank.Block {
	names := speakers(cues)
	var out talk
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

// speakers are the names before a colon that are names: those that occur again,
// or all if most cues have one. nil if the file marks its speakers otherwise.
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
