package llamacpp

import "strings"

const (
	// loopPeriod is the longest text, in bytes, whose repetition counts.
	loopPeriod = 600
	// A text of loopOnce bytes or more is a loop when it came twice in a row. A
	// shorter one may rightly come twice: it must fill loopSpan bytes again.
	loopOnce = 40
	loopSpan = 80
	// loopHold bytes that repeat are held back, as a loop may begin with them.
	loopHold = 16

	marks = ".!?\n " // between sentences
)

// A loopWatch notices that a text has begun to repeat itself.
type loopWatch struct {
	text   []byte
	repeat [loopPeriod + 1]int // by period: how many bytes at the end equal those a period before
}

// add takes the next bytes of the text.
func (w *loopWatch) add(text string) {
	for _, c := range []byte(text) {
		n := len(w.text)
		for p := 1; p <= min(loopPeriod, n); p++ {
			if w.text[n-p] == c {
				w.repeat[p]++
			} else {
				w.repeat[p] = 0
			}
		}
		w.text = append(w.text, c)
	}
}

// looped gives the length of the end that is a repetition; 0 if the text is none.
func (w *loopWatch) looped() int {
	for p := 1; p <= min(loopPeriod, len(w.text)-1); p++ {
		need := p
		if p < loopOnce {
			need = loopSpan
		}
		if n := w.repeat[p]; n >= need {
			// The mark that ends the sentence before is no part of it.
			for strings.IndexByte(marks, w.text[len(w.text)-n]) >= 0 && n > 1 {
				n--
			}
			return n
		}
	}
	return 0
}

// hold gives the length of the end that may be the beginning of a repetition: a
// sentence that begins as the one before it, or any longer text that comes again.
func (w *loopWatch) hold() int {
	longest := 0
	for p := 1; p <= min(loopPeriod, len(w.text)-1); p++ {
		if n := w.repeat[p]; n > longest && (n >= loopHold || w.begins(len(w.text)-n) && w.begins(len(w.text)-n-p)) {
			longest = n
		}
	}
	return longest
}

// begins says that a sentence or a line begins at a place, or behind the marks that
// stand there.
func (w *loopWatch) begins(at int) bool {
	for at < len(w.text) && strings.IndexByte(marks, w.text[at]) >= 0 {
		at++
	}
	if at == len(w.text) {
		return false
	}
	for at > 0 && w.text[at-1] == ' ' {
		at--
	}
	return at == 0 || strings.IndexByte(marks, w.text[at-1]) >= 0
}
