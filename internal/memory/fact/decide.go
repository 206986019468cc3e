package fact

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Decision says whether a question needs facts about the user.
type Decision struct {
	Needed bool
	Why    string
	// Best are the places in the list of the facts that match the question by attribute or
	// name, the best first.
	Best []int
}

var (
	// polite are words about the user that ask nothing about the user.
	polite = regexp.MustCompile(`(?i)\b(?:(?:can|could|would|will) you (?:please )?)?(?:tell|show|give|remind|explain to|find|help|let|send|list) (?:me|us)\b(?: know)?|\b(?:i|we) (?:want|need|would like|'d like) to (?:know|find out|see|understand)|\bi'd like to (?:know|find out|see|understand)|\b(?:can|could|may|where can|how can|how do|how could) (?:i|we) (?:find|ask|see|read|get|know)\b|\bi (?:wonder|think|guess|believe|mean|ask|forgot)\b`)
	own    = regexp.MustCompile(`\b(?:I|i|[Mm]e|[Mm]y|MY|[Mm]ine|[Mm]yself|[Ww]e|us|[Oo]ur|[Oo]urs|[Oo]urselves|(?:I|i|[Ww]e)'(?:m|ve|d|ll|re)|[Tt]he user(?:'s)?)\b`)
)

// cues are the words of a question that ask for an attribute, beside its own name.
var cues = []struct {
	what  string
	words []string
}{
	{"name", strings.Fields("name called who")},
	{"home", strings.Fields("live lives lived living city town address house apartment where moved near nearby local weather")},
	{"origin", strings.Fields("from born grew hometown country")},
	{"employer", strings.Fields("work works worked working company office employer job")},
	{"job", strings.Fields("job work works profession occupation living")},
	{"studies", strings.Fields("study studies studying studied university degree course")},
	{"allergy", strings.Fields("allergy allergies allergic eat food cook recipe restaurant dinner lunch dish avoid")},
	{"diet", strings.Fields("diet eat food cook recipe restaurant dinner lunch dish vegetarian vegan meat")},
	{"likes", strings.Fields("like likes love enjoy favourite favorite hobby hobbies interests recommend suggest gift present")},
	{"dislikes", strings.Fields("dislike dislikes hate avoid recommend suggest")},
	{"prefers", strings.Fields("prefer prefers preference preferences recommend suggest")},
	{"birthday", strings.Fields("birthday born old age")},
	{"phone", strings.Fields("phone number mobile call")},
	{"email", strings.Fields("email mail address")},
	{"language", strings.Fields("language languages speak")},
}

// maxBest bounds how many facts one question prefers.
const maxBest = 8

// Decide says whether a question needs one of these facts: if it speaks of the user, or names
// a person of a fact. A question that only shares a word with a fact needs it too, because
// a fact too many costs less than one that is missing.
func Decide(question string, facts []Record) Decision {
	question = strings.ReplaceAll(question, "’", "'")
	asked := wordsOf(question)
	aboutUser := own.MatchString(polite.ReplaceAllString(question, " "))
	d := Decision{Needed: aboutUser, Why: "the question is about the user"}
	if !aboutUser {
		d.Why = "the question is not about the user and names nothing that a fact has"
	}
	type scored struct{ at, score int }
	var best []scored
	for i, r := range facts {
		person, shared, cue := false, 0, 0
		for _, n := range names(r) {
			person = person || containsWord(question, n)
		}
		for _, w := range wordsOf(r.Value + " " + r.What) {
			if utf8.RuneCountInString(w) > 3 && slices.Contains(asked, w) {
				shared++
			}
		}
		for _, c := range cues {
			if c.what == r.What && slices.ContainsFunc(c.words, func(w string) bool { return slices.Contains(asked, w) }) {
				cue = 1
			}
		}
		switch {
		case person:
			d.Needed, d.Why = true, "the question names a person of a fact"
		case shared > 0 && !d.Needed:
			d.Needed, d.Why = true, "the question shares a word with a fact"
		}
		score := 2*shared + 2*cue
		if person {
			score += 3
		}
		if r.Who != "" && !person {
			score = 0 // another person's
		}
		if score > 0 && !r.Until.IsZero() {
			score-- // what holds comes before what held
		}
		if score > 0 && (aboutUser || person) {
			best = append(best, scored{i, score})
		}
	}
	slices.SortStableFunc(best, func(a, b scored) int { return b.score - a.score })
	for _, s := range best[:min(len(best), maxBest)] {
		d.Best = append(d.Best, s.at)
	}
	return d
}

// names are the names of persons in a record.
func names(r Record) (out []string) {
	texts := []string{r.Who}
	if r.What != Note && r.Value != "" && strings.Contains("|"+relatives+"|", "|"+r.What+"|") {
		texts = append(texts, r.Value)
	}
	for _, t := range texts {
		for _, w := range strings.Fields(t) {
			if first, _ := utf8.DecodeRuneInString(w); unicode.IsUpper(first) && utf8.RuneCountInString(w) > 1 {
				out = append(out, w)
			}
		}
	}
	return out
}

// containsWord says that a text has a word, in these letters.
func containsWord(text, word string) bool {
	return slices.Contains(strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && r != '-' }), word)
}

// wordsOf are the words of a text in small letters.
func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
