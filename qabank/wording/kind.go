package wording

import (
	"slices"
	"strings"
)

// strip takes off what stands around a question out of politeness. embedded
// says that it stood in a sentence: "tell me where it is".
func strip(t []token) (rest []token, embedded bool) {
	x := english()
	for len(t) > 0 {
		n := 0
		for k := min(8, len(t)); k > 0 && n == 0; k-- {
			text := join(t[:k])
			if x.polite[text] && (k == 1 && x.is("empty", text) || opens(t[k:]) || thing(text, t[k:])) {
				n = k
			}
		}
		if n == 0 {
			break
		}
		embedded = embedded || !x.is("empty", join(t[:n]))
		t = t[n:]
	}
	for len(t) > 1 {
		last := t[len(t)-1].raw
		if last == "please" || last == "thanks" || last == "kindly" || last == "cheers" {
			t = t[:len(t)-1]
			continue
		}
		if len(t) > 5 && join(t[len(t)-3:]) == "by any chance" || len(t) > 5 && join(t[len(t)-3:]) == "do you know" {
			t = t[:len(t)-3]
			continue
		}
		if last == "you" && t[len(t)-2].raw == "thank" {
			t = t[:len(t)-2]
			continue
		}
		break
	}
	return t, embedded
}

func join(t []token) string {
	raws := make([]string, len(t))
	for i := range t {
		raws[i] = t[i].raw
	}
	return strings.Join(raws, " ")
}

// opens says whether a question proper begins here, or another polite phrase.
func opens(t []token) bool {
	if len(t) == 0 {
		return false
	}
	w := t[0].raw
	if asks(w) || w == "if" || w == "whether" || english().polite[w] && w != "find" && w != "explain" && w != "question" {
		return true
	}
	return len(t) > 1 && (english().is("weak", w) || english().is("strict", w)) && asks(t[1].raw)
}

func asks(w string) bool {
	switch w {
	case "who", "whom", "whose", "when", "where", "why", "how", "what", "which":
		return true
	}
	return false
}

// thing says whether a polite phrase may be followed by the thing wanted.
func thing(phrase string, t []token) bool {
	last := phrase[strings.LastIndexByte(phrase, ' ')+1:]
	switch last {
	case "me", "us", "need", "for", "up", "find", "check":
	default:
		return false
	}
	if len(t) == 0 || strings.HasPrefix(phrase, "do ") || t[0].raw == "to" {
		return false
	}
	return english().is("determiner", t[0].raw) || len(t) > 1 && t[1].raw == "'s"
}

// rewrite shortens what takes more words than it needs.
func rewrite(t []token) []token {
	x := english()
	for i := 0; i < len(t); i++ {
		for k := min(6, len(t)-i); k > 1; k-- {
			if to, ok := x.rewrites[join(t[i:i+k])]; ok {
				out := append([]token{}, t[:i]...)
				out = appendWords(out, t[i], to)
				return append(out, t[i+k:]...)
			}
		}
	}
	return t
}

// partOf says plainly which of some things are asked for: "which of the invoices are unpaid" asks
// for the same as "which invoices are unpaid", and "which of Ana's invoices are" for the same as
// "which invoices of Ana are".
func partOf(t []token) []token {
	of := 1
	switch {
	case len(t) > 3 && t[0].raw == "which":
	case len(t) > 4 && t[0].raw == "how" && t[1].raw == "many":
		of = 2
	default:
		return t
	}
	if t[of].raw != "of" {
		return t
	}
	x := english()
	plural := func(i int) bool { // and the verb follows, so nothing else belongs to it
		if i+1 >= len(t) || t[i].comma || t[i+1].comma {
			return false
		}
		one, _ := x.lemma(t[i].raw)
		verb, _ := x.lemma(t[i+1].raw)
		return one != t[i].raw && (verb == "be" || verb == "do" || verb == "have" || helper(t[i+1].raw))
	}
	if t[of+1].raw == "the" && plural(of+2) {
		return slices.Concat(t[:of], t[of+2:])
	}
	for i := of + 2; i < min(of+6, len(t)-1); i++ {
		if t[i].raw == "'s" && plural(i+1) {
			return slices.Concat(t[:of], t[i+1:i+2], t[of:i], t[i+2:])
		}
	}
	return t
}

// kindAt finds the question word that governs, and says what it asks for.
func kindAt(t []token) (kind string, from, to int) {
	x := english()
	if len(t) == 0 {
		return "", 0, 0
	}
	if t[0].raw == "if" || t[0].raw == "whether" {
		return "whether", 0, 1
	}
	if l, _ := x.lemma(t[0].raw); l == "be" || l == "do" || l == "have" || helper(t[0].raw) {
		return "whether", 0, 0
	}
	for i := range t {
		for k := min(8, len(t)-i); k > 0; k-- {
			if kind, ok := x.kinds[join(t[i:i+k])]; ok {
				return kind, i, i + k
			}
		}
	}
	return "noun", 0, 0
}

// helper says whether a word is a verb that only helps another.
func helper(w string) bool {
	x := english()
	return x.is("future", w) || x.is("can", w) && w != "able" && w != "allowed" && w != "permitted" && w != "possible" ||
		x.is("must", w) || x.is("should", w) || x.is("would", w)
}
