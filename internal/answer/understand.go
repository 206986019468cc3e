package answer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/percached/percached/internal/base/names"
	"github.com/percached/percached/qabank"
)

// followedTurns is how many of the latest turns a question is understood from.
const followedTurns = 16

// understand returns the question as one that stands alone, without the turns before it.
// It is sure if the question says so itself, or if its pronouns and gaps can mean only one
// thing. If it is not, the question keeps its text and its turns.
func (q Question) understand() (Question, bool) {
	q, sure := q.resolve()
	q.tells = q.leansOnStatement()
	if sure && !q.tells {
		q.Earlier, q.summary = nil, ""
	}
	return q, sure
}

// resolve is understand with all turns.
func (q Question) resolve() (Question, bool) {
	if len(q.Earlier) == 0 || q.FollowsUp {
		return q, !q.FollowsUp
	}
	said := saying{}
	for _, t := range q.Earlier[max(0, len(q.Earlier)-followedTurns):] {
		if t.Role == RoleAssistant {
			said.answer = t.Text
			continue
		}
		if len(t.Text) > promptTurn { // no question
			said = saying{vague: true}
			continue
		}
		text, sure := said.resolve(t.Text)
		said = saying{question: text, vague: !sure}
	}
	text, sure := said.resolve(q.Text)
	if !sure || len(text) > maxQuestion {
		return q, false
	}
	if text != q.Text {
		q.asked, q.Text = q.Text, text
	}
	return q, true
}

// saying is what a follow-up question can lean on.
type saying struct {
	question string // the latest, understood
	vague    bool   // it could not be understood
	answer   string // to it
}

// resolve makes a question stand alone, if that is sure.
func (s *saying) resolve(question string) (text string, sure bool) {
	question = strings.TrimSpace(question)
	if s.question == "" || s.vague {
		return question, !leans(question)
	}
	if !leans(question) {
		return question, true
	}
	if text, ok := s.fillGap(question); ok {
		return text, true
	}
	if text, ok := s.replacePronouns(question); ok && !leans(text) {
		return text, true
	}
	return question, false
}

// leans reports whether a question in a conversation may mean what was said before: it has
// a pronoun or a gap, is a request that names nothing ("More details, please"), or speaks of
// a thing ("the budget") without saying whose.
func leans(question string) bool {
	if qabank.FollowUp(question) {
		return true
	}
	for _, p := range pronounsOf(question) {
		// FollowUp knows when "it" means nothing, as in "is it possible".
		if p.text != "it" && (!p.named || !p.owns && slices.Contains(objects, p.text)) {
			return true
		}
	}
	of := slices.DeleteFunc(names.In(question, true), func(n string) bool { return slices.Contains(languages, n) })
	if len(of) > 0 || strings.ContainsFunc(question, unicode.IsDigit) {
		return false
	}
	words := bareWords(question)
	says := 0 // words that say what is meant
	for _, w := range words {
		if !slices.Contains(asks, w) && !slices.Contains(small, w) && !isPreposition(w) {
			says++
		}
	}
	if says < 2 || !slices.Contains(asks, words[0]) {
		return true
	}
	for i, w := range words {
		if w == "the" && !slices.ContainsFunc(words[i+1:], isPreposition) {
			return true
		}
	}
	return false
}

func bareWords(text string) []string {
	words := strings.Fields(strings.ToLower(text))
	for i, w := range words {
		words[i] = strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	}
	return words
}

// A thing is told apart by what follows one of them: the budget of Heron.
var prepositions = strings.Fields("of for about in from with by on at to between during after before since")

func isPreposition(word string) bool { return slices.Contains(prepositions, word) }

var (
	// Words with which a question begins, and words that say nothing alone.
	asks  = strings.Fields("who whom whose what which when where why how is are was were am do does did have has had will would shall should can could may might must")
	small = strings.Fields("a an the and or not no any some more other else there here you me i we us my your our please tell know be been it's")
	// An answer may be wanted in one of these: they are no subject.
	languages = strings.Fields("English German French Spanish Italian Portuguese Dutch Polish Russian Chinese Japanese Korean Arabic Turkish Hindi")
)

var (
	// Words before the gap's filling: "And what about Kite?"
	leads = strings.Fields("and but or so then what how about for of in from with by on at to is it the same")
	// The pronouns of a person, of a thing, and of either.
	people      = strings.Fields("he she him his her hers")
	things      = strings.Fields("it its")
	several     = strings.Fields("they them their theirs")
	possessives = strings.Fields("his hers its their theirs")
	objects     = strings.Fields("him her them")
	conjuncted  = strings.Fields("and but so also or then")
)

// fillGap understands a question that only names another thing ("And of Kite?"): it is the
// question before, about that one.
func (s *saying) fillGap(question string) (string, bool) {
	of := names.In("x "+question, true)
	if len(of) != 1 {
		return "", false
	}
	before, after, _ := strings.Cut(question, of[0])
	if strings.ContainsFunc(after, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		return "", false
	}
	words := bareWords(before)
	if len(words) == 0 || slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(leads, w) }) {
		return "", false
	}
	old := names.In(s.question, true)
	if len(old) == 2 && len(words) > 0 && isPreposition(words[len(words)-1]) {
		// The one behind the same preposition.
		old = slices.DeleteFunc(old, func(n string) bool { return !strings.Contains(s.question, " "+words[len(words)-1]+" "+n) })
	}
	if len(old) != 1 || old[0] == of[0] {
		return "", false
	}
	return strings.Replace(s.question, old[0], of[0], 1), true
}

// replacePronouns puts what the pronouns mean in their place: what the question before was
// about, if it was about one thing, or the person that the answer named, if it was asked
// for one.
func (s *saying) replacePronouns(question string) (string, bool) {
	about := names.In(s.question, true)
	person := about
	named := slices.DeleteFunc(names.In("x "+firstSentence(s.answer[:min(len(s.answer), promptTurn)]), true), func(n string) bool { return slices.Contains(about, n) })
	switch {
	case asksWho(s.question):
		person = named
	case len(named) > 0: // it may be one of them
		person = nil
	}
	words := strings.Fields(question)
	if len(words) > 1 && slices.Contains(conjuncted, strings.ToLower(strings.TrimRight(words[0], ","))) {
		words = words[1:]
		first, size := utf8.DecodeRuneInString(words[0])
		words[0] = string(unicode.ToUpper(first)) + words[0][size:]
	}
	question = strings.Join(words, " ")
	put := map[string]bool{}
	for _, p := range pronounsOf(question) {
		meant := about
		switch {
		case slices.Contains(people, p.text):
			meant = person
		case asksWho(s.question) && slices.Contains(several, p.text): // things, or those who were asked for
			meant = nil
		}
		if len(meant) != 1 {
			return "", false
		}
		if put[meant[0]] { // this one means that name too
			continue
		}
		put[meant[0]] = true
		name := meant[0]
		if p.owns {
			name += "'s"
		}
		words[p.at] = strings.Replace(strings.ToLower(words[p.at]), p.text, name, 1)
	}
	return strings.Join(words, " "), len(put) > 0
}

// pronoun is a pronoun of a question.
type pronoun struct {
	at    int // word
	text  string
	named bool // it stands behind a name
	owns  bool // it is possessive
}

func pronounsOf(question string) (found []pronoun) {
	words := strings.Fields(question)
	bare := bareWords(question)
	seen, named := 0, false // up to the last pronoun
	for i, w := range bare {
		if !slices.Contains(people, w) && !slices.Contains(things, w) && !slices.Contains(several, w) || i > 0 && !strings.Contains(words[i], w) {
			continue // IT is not it
		}
		owns := slices.Contains(possessives, w) || w == "her" && i+1 < len(bare) && !isPreposition(bare[i+1])
		named = named || len(names.In("x "+strings.Join(words[seen:i], " "), true)) > 0
		seen = i
		found = append(found, pronoun{i, w, named, owns})
	}
	return found
}

// firstSentence of an answer says whom it is about.
func firstSentence(text string) string {
	if at := strings.IndexAny(text, ".\n"); at > 0 {
		return text[:at]
	}
	return text
}

func asksWho(question string) bool {
	words := bareWords(question)
	return len(words) > 0 && slices.Contains([]string{"who", "whom", "whose"}, words[0])
}
