package reader

import (
	"fmt"
	"strings"
	"time"

	"github.com/percached/percached/knowledgebank"
)

// turns merges cues to what one speaker says at a time.
func turns(cues []cue) []knowledgebank.Block {
	names := speakers(cues)
	var out []knowledgebank.Block
	var end time.Duration
	last := "" // the last line, for captions that roll
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
			if s.text == last && from <= end+50*time.Millisecond && (len(c.lines) > 1 || names == nil) {
				continue
			}
			last = s.text
			n := len(out)
			if n > 0 && (out[n-1].Speaker == s.speaker || s.speaker == "" && names == nil) && !(s.speaker == "" && enough(out[n-1].Text)) {
				out[n-1].Text += " " + s.text
				continue
			}
			out = append(out, knowledgebank.Block{Speaker: s.speaker, At: clockOf(from), Text: s.text})
		}
		end = max(end, c.to)
	}
	return out
}

// enough says that text of no known speaker is long enough for a paragraph.
func enough(text string) bool {
	words := strings.Count(text, " ")
	return words > 150 || words > 50 && strings.ContainsAny(text[len(text)-1:], ".!?")
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
