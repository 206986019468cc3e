package qabank

import (
	"slices"
	"strings"
)

const (
	// What opens a question that goes on from another.
	leaning = " and but or so also then what-about how-about and-what anything-else same why-not are-you-sure really "
	asking  = " who whom whose what which when where why how "
	helping = " is are was were am be been do does did have has had will would shall should can could may might must "
	empty   = " a an the of in at on for about from to by with much many long often far old exactly then else not now again please me i my we us our you your tell know there "
	subject = " he she they it "
	object  = " him them "
	owned   = " his her hers their theirs its "
	picked  = " the this that which another other first second third last next new old same other previous only right "
)

// FollowUp says whether a question leans on what was said before it, so that
// it means nothing alone. Where it is in doubt it says so.
func FollowUp(question string) bool {
	w := plainWords(question)
	if len(w) == 0 {
		return true
	}
	if in(leaning, w[0]) || in(leaning, w[0]+"-"+at(w, 1)) || in(leaning, strings.Join(w[:min(3, len(w))], "-")) {
		return true
	}
	things := 0 // words so far that a pronoun could stand for
	content := false
	for i, x := range w {
		switch {
		case in(subject, x):
			if things == 0 && !idle(w, i) {
				return true
			}
		case in(object, x):
			if things < 3 { // one of them is the verb, and one does it
				return true
			}
		case in(owned, x):
			if things == 0 {
				return true
			}
		case x == "one" || x == "ones":
			if in(picked, at(w, i-1)) && things == 0 || at(w, i-1) == "which" {
				return true
			}
		case x == "this" || x == "these" || x == "those":
			if !in(spans, strings.TrimSuffix(at(w, i+1), "s")) && !in(week, at(w, i+1)) {
				return true
			}
		case x == "that":
			if pointing(w, i) {
				return true
			}
		case x == "there":
			if i == len(w)-1 && things == 0 {
				return true
			}
		case x == "former" || x == "latter", x == "then" && i == len(w)-1:
			return true
		case in(asking, x), in(helping, x), in(empty, x):
		case in(picked, x) && (at(w, i+1) == "one" || at(w, i+1) == "ones"):
		default:
			content = true
			things++
		}
	}
	return !content
}

// idle says whether the "it" at i stands for nothing: is it possible, how far
// is it from here, does it rain.
func idle(w []string, i int) bool {
	if w[i] != "it" {
		return false
	}
	rest := w[i+1:]
	switch at(rest, 0) {
	case "possible", "true", "necessary", "allowed", "okay", "ok", "rain", "rains", "raining", "snow", "snowing", "from", "take", "takes":
		return true
	}
	return slices.Contains(rest, "that") || slices.Contains(rest, "to") && len(rest) > 2
}

// pointing says whether the "that" at i points at something said before.
func pointing(w []string, i int) bool {
	next, before := at(w, i+1), at(w, i-1)
	return next == "" || in(helping, next) && (i == 0 || in(asking, before)) || in(helping, before) || in(" of in at on for about from to by with like after before ", before)
}
