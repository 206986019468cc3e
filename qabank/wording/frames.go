package wording

import (
	"slices"
	"strings"
)

// frame is a way to ask for something, and the plain way to ask for the same.
// In both, X and Y stand for what is asked about.
type frame struct{ asked, plain []part }

// part is one place of a frame: one of some words, or what is asked about.
type part struct {
	words    []string
	slot     string // X, Y, BE or DO
	list     string // the last word of the slot is in this list
	optional bool
	present  bool // the plain question speaks of now, so the asked one must
}

// maxSlot is how many words may stand in one slot.
const maxSlot = 8

func parseFrame(line string) frame {
	asked, plain, _ := strings.Cut(line, " = ")
	f := frame{parts(asked), parts(plain)}
	timed := slices.ContainsFunc(f.plain, part.timed)
	for i := range f.asked {
		f.asked[i].present = f.asked[i].timed() && !timed
	}
	return f
}

// timed says whether the part carries the time of the question.
func (p part) timed() bool { return p.slot == "BE" || p.slot == "DO" }

func parts(text string) (out []part) {
	for _, f := range strings.Fields(text) {
		p := part{}
		if in, ok := strings.CutPrefix(f, "("); ok {
			f, p.optional = strings.TrimSuffix(in, ")"), true
		}
		name, list, _ := strings.Cut(f, ":")
		switch name {
		case "X", "Y", "BE", "DO":
			p.slot, p.list = name, list
		default:
			p.words = strings.Split(f, "/")
		}
		out = append(out, p)
	}
	return out
}

// plainly puts a question in the plain way, where a frame fits all of it.
func plainly(t []token) []token {
	for range 3 {
		next := t
		has := map[string]bool{}
		for _, w := range t {
			has[w.raw] = true
		}
		for _, f := range english().frames {
			if !f.possible(has) {
				continue
			}
			got := map[string][]token{}
			if matches(f.asked, t, got) {
				next = fill(f.plain, got, t[0])
				break
			}
		}
		if join(next) == join(t) {
			break
		}
		t = next
	}
	return t
}

// possible says whether the words that the frame cannot do without are there:
// most frames end here.
func (f frame) possible(has map[string]bool) bool {
	return !slices.ContainsFunc(f.asked, func(p part) bool {
		return len(p.words) > 0 && !p.optional && !slices.ContainsFunc(p.words, func(w string) bool { return has[w] })
	})
}

// matches says whether the parts fit the words, and what is in the slots.
func matches(p []part, t []token, got map[string][]token) bool {
	if len(p) == 0 {
		return len(t) == 0
	}
	if p[0].optional && matches(p[1:], t, got) {
		return true
	}
	most := 1
	if p[0].slot == "X" || p[0].slot == "Y" {
		most = min(maxSlot, len(t))
	}
	for n := 1; n <= most && n <= len(t); n++ {
		if !p[0].fits(t[:n]) {
			continue
		}
		if matches(p[1:], t[n:], got) {
			if p[0].slot != "" {
				got[p[0].slot] = t[:n]
			}
			return true
		}
	}
	return false
}

func (p part) fits(t []token) bool {
	x := english()
	switch p.slot {
	case "":
		return slices.Contains(p.words, t[0].raw)
	case "BE":
		return x.formOf(t[0].raw, "be") && t[0].raw != "being" && t[0].raw != "been" && t[0].raw != "am" && !(p.present && then(t[0].raw))
	case "DO":
		return slices.Contains([]string{"do", "does", "did"}, t[0].raw) && !(p.present && then(t[0].raw))
	}
	last := t[len(t)-1].raw
	if p.list != "plural" {
		for i, w := range t { // the deposit for the flat is a deposit
			if i > 0 && (x.is("weak", w.raw) || x.is("strict", w.raw)) {
				last = t[i-1].raw
				break
			}
		}
	}
	one, _ := x.lemma(last)
	switch p.list {
	case "":
	case "plural": // the number of rooms, not that of the room
		if x.is("determiner", t[0].raw) || one == last && last != "people" || slices.ContainsFunc(t, func(w token) bool { return w.raw == "'s" }) {
			return false
		}
	default:
		if !x.is(p.list, last) && !x.is(p.list, one) {
			return false
		}
	}
	return t[len(t)-1].raw != "'s" && t[0].raw != "'s" && !slices.ContainsFunc(t, func(w token) bool { return asks(w.raw) || w.comma })
}

// fill writes the plain question.
func fill(p []part, got map[string][]token, first token) []token {
	var out []token
	for _, f := range p {
		switch f.slot {
		case "X", "Y":
			out = append(out, got[f.slot]...)
		case "BE":
			out = append(out, token{raw: timed(got, "is", "was")})
		case "DO":
			out = append(out, token{raw: timed(got, "does", "did")})
		default:
			out = append(out, token{raw: f.words[0]})
		}
	}
	if len(out) > 0 {
		out[0].comma = first.comma
	}
	return out
}

// timed is the word for the time that the question was about.
func timed(got map[string][]token, now, before string) string {
	for _, s := range []string{"BE", "DO"} {
		if w := got[s]; len(w) > 0 && then(w[0].raw) {
			return before
		}
	}
	return now
}

func then(w string) bool { return w == "was" || w == "were" || w == "did" }
