package fact

import (
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// maxStatement is the longest statement in bytes that rules read: a longer one is pasted text.
const maxStatement = 4 << 10

// rule finds one attribute at the beginning of a clause. Its last group is the value; a first
// of two groups names the attribute.
type rule struct {
	what string
	re   *regexp.Regexp
	kind kind
}

// kind is what a value has to look like.
type kind int

const (
	thing kind = iota // a few words that do not point at something said before
	name              // capitalised words
	place             // begins with a capital
	free              // anything short
)

const relatives = `mother|mom|mum|father|dad|sister|brother|wife|husband|spouse|partner|girlfriend|boyfriend|fianc[eé]e?|son|daughter|child|cousin|aunt|uncle|niece|nephew|grandmother|grandma|grandfather|grandpa|grandson|granddaughter|friend|best friend|boss|manager|colleague|roommate|neighbou?r|doctor|dentist|therapist|dog|cat|puppy|kitten|pet`

const occupations = `accountant|actor|actress|architect|artist|baker|barber|carpenter|chef|coach|cook|dentist|designer|developer|doctor|driver|editor|electrician|engineer|farmer|firefighter|gardener|hairdresser|journalist|judge|lawyer|lecturer|librarian|mechanic|midwife|musician|nurse|officer|painter|paramedic|pharmacist|photographer|physiotherapist|pilot|plumber|postman|professor|programmer|psychologist|researcher|sailor|scientist|secretary|student|surgeon|teacher|technician|therapist|translator|vet|veterinarian|waiter|waitress|writer`

const adverbs = `(?:(?:really|absolutely|also|just|still|currently|now|truly|actually|always|totally|mostly|especially|recently) )*`

var rules = []rule{
	{"name", regexp.MustCompile(`^(?i:my (?:full )?name is|my name's|please call me|you can call me|call me|i'm called|i am called|i go by) (.+)`), name},
	{"home", regexp.MustCompile(`^(?i:i ` + adverbs + `live in|i'm ` + adverbs + `living in|i am ` + adverbs + `living in|i(?:'ve)? ` + adverbs + `moved to|i have moved to|we live in|my home is in) (.+)`), place},
	{"origin", regexp.MustCompile(`^(?i:i'm ` + adverbs + `from|i am ` + adverbs + `from|i come from|i was born in|i grew up in) (.+)`), place},
	{"employer", regexp.MustCompile(`^(?i:i ` + adverbs + `work (?:at|for)|i'm ` + adverbs + `working (?:at|for)|i am ` + adverbs + `working (?:at|for)|my employer is) (.+)`), place},
	{"job", regexp.MustCompile(`^(?i:i ` + adverbs + `work as|i'm ` + adverbs + `working as|i am ` + adverbs + `working as|my (?:job|profession) is) (.+)`), thing},
	{"job", regexp.MustCompile(`^(?i:i'm|i am) (?i:` + adverbs + `)(?i:an?) ((?:[a-zA-Z-]+ ){0,2}(?:` + occupations + `))(?:$|[.,;!]| (?i:and|at|in|for|from|now|by)\b)`), thing},
	{"studies", regexp.MustCompile(`^(?i:i ` + adverbs + `study|i'm ` + adverbs + `studying|i am ` + adverbs + `studying) (.+)`), thing},
	{"allergy", regexp.MustCompile(`^(?i:i'm ` + adverbs + `allergic to|i am ` + adverbs + `allergic to|i have an allergy to) (.+)`), thing},
	{"likes", regexp.MustCompile(`^(?i:i ` + adverbs + `(?:like|love|enjoy|adore)|(?:i'm|i am) (?:also )?an? (?:(?:big|huge|great) )?fan of)(?: also)? (.+)`), thing},
	{"dislikes", regexp.MustCompile(`^(?i:i ` + adverbs + `(?:hate|dislike|can't stand|cannot stand|don't like|do not like)) (.+)`), thing},
	{"prefers", regexp.MustCompile(`^(?i:i ` + adverbs + `prefer) (.+)`), thing},
	{"birthday", regexp.MustCompile(`^(?i:my birthday is|my birthday's|i was born) (?i:on )?(.*\d.*|(?:January|February|March|April|May|June|July|August|September|October|November|December)\b.*)`), free},
	{"phone", regexp.MustCompile(`^(?i:my (?:phone|mobile|cell)(?: number| phone)? is) (\+?\d[\d ()./-]{5,18}\d)`), free},
	{"email", regexp.MustCompile(`^(?i:my e-?mail(?: address)? is) ([^\s@]+@[^\s@]+\.[^\s@]+)`), free},
	{"diet", regexp.MustCompile(`^(?i:i'm|i am) (?i:` + adverbs + `)(?i:an? )?(?i:(vegetarian|vegan|pescatarian|lactose intolerant|gluten intolerant)s?)\b`), free},
	{"", regexp.MustCompile(`^(?i:my) ((?i:favou?rite (?:[a-z]+ )?(?:author|band|book|cafe|city|colou?r|composer|country|cuisine|day|dish|drink|film|food|fruit|hobby|movie|musician|painter|place|restaurant|season|show|singer|sport|subject|team|writer))) (?i:is|are) (.+)`), thing},
	{"", regexp.MustCompile(`^(?i:my) ((?i:` + relatives + `))(?i:'s name is| is (?:called|named)| is) (.+)`), name},
	{"", regexp.MustCompile(`^(?i:i have an? (?:\w+ )?)((?i:` + relatives + `)) (?i:named|called) (.+)`), name},
	{"", regexp.MustCompile(`\b(?i:my) ((?i:` + relatives + `)),? ([A-Z][\p{L}'-]+(?: [A-Z][\p{L}'-]+)?)(?:,| (?i:and|is|was|has|had|will|lives?|works?|said|says|told|loves?|likes?|wants?|got|came|went)\b|$)`), name},
}

// others begins a request about a text that follows.
var others = regexp.MustCompile(`(?im)^(?:please )?(?:can you |could you )?(?:translate|rewrite|rephrase|proofread|correct|summari[sz]e|shorten|answer|reply to|continue)\b|:\s*\n`)

var (
	remember  = regexp.MustCompile(`^(?i:please )?(?i:remember|keep in mind|note|don't forget|do not forget)(?i:,? that |: )(.+)$`)
	leadIn    = regexp.MustCompile(`^(?i:(?:hi|hello|hey)(?: there)?(?:,? (?-i:[A-Z]\w+))?|yes|yeah|yep|no|nope|oh|ah|well|so|and|also|but|ok|okay|sure|thanks|thank you|actually|honestly|by the way|btw|fyi|for your information|just so you know|you know|i mean|as you know|as for me|personally)\b[,!: -]*`)
	unreal    = regexp.MustCompile(`(?i)\b(if|unless|suppose|supposing|imagine|pretend|would|wouldn't|could|couldn't|might|maybe|perhaps|probably|wish|hope to|used to|no longer|anymore|not|never|isn't|ain't|wasn't|let's|kidding|joking|hypothetically|translate|rewrite|proofread|summari[sz]e|says?|said|story|character)\b`)
	points    = regexp.MustCompile(`(?i)\b(it|its|it's|this|that|that's|these|those|them|they|him|her|his|their|he|she|you|your|yours|you're|you've|here|there|one|ones|both|same|how|what|when|where|why|who|everything|something|anything|nothing|stuff|things?|game|song|way|idea|sound|look|feel|seeing|hearing|being|having|knowing)\b`)
	wordEnds  = regexp.MustCompile(`(?i)(?:,? (?:because|so|but|which|where|who|when|while|since|although|though|until|before|after|cuz|cause|then|even|if|as|that|and (?:i|i'm|i've|my|we|it|it's|he|she|they|you|have|am|work|live|love|like|want|would|need|then|also|so|am|was|got|please|what|how|where|can|could)|now|right now|these days|nowadays|currently|at the moment|lately|recently|too|also|as well|though|for now|for the|for \w+ years?|in (?:19|20)\d\d|last \w+|this \w+|\d+ years ago|with (?:my|a|the)|by the way|btw|please|can you|a lot|so much|very much|most of all|more than anything)\b|[,;:!?()"“”]| - | – ).*$`)
	clauseEnd = regexp.MustCompile(`(?i)[,;:] (?:(?:and|but|so) )?| - | – | — | and ((?:i|i'm|my) )| but | because | so (?:i|my)\b`)
	narrowed  = regexp.MustCompile(`^[^,;.]* (?:that|which) `) // "games that make me think": not all games
	demonyms  = regexp.MustCompile(`^(?:[A-Z]\w+(?:ese|ish|ean)|American|German|Italian|Indian|Norwegian|Russian|Canadian|Australian|Mexican|Brazilian|French|Dutch|Greek|Austrian|Belgian|Muslim|Christian|Catholic|Jewish|Hindu|Buddhist|January|February|March|April|May|June|July|August|September|October|November|December|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday|Christmas|Thanksgiving|Easter|I|I'm|I've|OK|No|Yes|The|A|An|My|In|At|On|So|Very|When|Mr|Mrs|Dr)$`)
)

// Extract returns the facts about the user in a statement, in its order. A statement with a
// secret has none.
func Extract(statement string, said time.Time) []Record {
	if len(statement) > maxStatement || !utf8.ValidString(statement) || Secret(statement) != "" {
		return nil
	}
	statement = strings.ReplaceAll(statement, "’", "'")
	if others.MatchString(statement) { // it is about a text of somebody
		return nil
	}
	lower := !strings.ContainsFunc(statement, unicode.IsUpper) // then capitals say nothing
	var found []Record
	add := func(r Record) {
		r.Said, r.Since, r.Heard = Day(said), Day(said), true
		if r.Check() == nil && !slices.ContainsFunc(found, r.Same) {
			found = append(found, r)
		}
	}
	for _, s := range sentences(statement) {
		s = stripLeadIns(s)
		note := false
		if m := remember.FindStringSubmatch(s); m != nil {
			s, note = m[1], true
		}
		if strings.HasSuffix(s, "?") || strings.ContainsAny(s, `"“”{}<>|`) {
			continue
		}
		before := len(found)
		for _, clause := range clauses(s) {
			if r, ok := match(clause, lower); ok {
				add(r)
			}
		}
		if note && len(found) == before && len(strings.Fields(s)) > 2 {
			add(Record{What: Note, Value: Tidy(s)})
		}
	}
	return found
}

// match applies the rules to one clause.
func match(clause string, lower bool) (Record, bool) {
	for _, r := range rules {
		at := r.re.FindStringSubmatchIndex(clause)
		if at == nil {
			continue
		}
		m := r.re.FindStringSubmatch(clause)
		// What precedes the value must be real; "don't like" is a rule of its own.
		start := at[len(at)-2]
		if head := clause[:start]; unreal.MatchString(head) && r.what != "dislikes" || r.what == "name" && lower {
			continue
		}
		if narrowed.MatchString(m[len(m)-1]) {
			continue
		}
		rec := Record{What: r.what, Value: Tidy(wordEnds.ReplaceAllString(m[len(m)-1], ""))}
		if rec.What == "" {
			rec.What = attribute(m[1])
		}
		if r.kind == free {
			rec.Value = Tidy(m[len(m)-1])
		}
		if fits(rec.Value, r.kind, lower) {
			return rec, true
		}
	}
	return Record{}, false
}

// attribute names a relation or favourite in one spelling.
func attribute(s string) string {
	s = strings.ToLower(s)
	if strings.HasPrefix(s, "favo") {
		s = strings.NewReplacer("favorite", "favourite", "color", "colour").Replace(s)
	}
	switch s {
	case "mom", "mum":
		return "mother"
	case "dad":
		return "father"
	case "grandma":
		return "grandmother"
	case "grandpa":
		return "grandfather"
	case "neighbor":
		return "neighbour"
	case "puppy":
		return "dog"
	case "kitten":
		return "cat"
	case "best friend":
		return "friend"
	}
	return s
}

// fits says that a value looks like its kind.
func fits(v string, k kind, lower bool) bool {
	words := strings.Fields(v)
	if len(words) == 0 || len(words) > 8 || unreal.MatchString(v) {
		return false
	}
	capital := func(w string) bool {
		r, _ := utf8.DecodeRuneInString(w)
		return unicode.IsUpper(r)
	}
	switch k {
	case name:
		if v == strings.ToUpper(v) && len(v) > 1 { // ASAP
			return false
		}
		return len(words) <= 3 && !slices.ContainsFunc(words, func(w string) bool { return !capital(w) || demonyms.MatchString(w) })
	case place:
		if slices.Contains([]string{"the", "a", "an"}, strings.ToLower(words[0])) {
			words = words[1:]
			lower = false
		}
		return len(words) > 0 && len(words) <= 6 && !strings.ContainsFunc(words[0], unicode.IsDigit) && !slices.Contains(nowhere, strings.ToLower(words[0])) && (capital(words[0]) || lower) && !points.MatchString(v) && !pastTense(words[len(words)-1])
	case thing: // with an article it is mostly about something at hand: "I love the colours"
		first, last := strings.ToLower(words[0]), strings.ToLower(words[len(words)-1])
		return !slices.Contains(articles, first) && !slices.Contains(prepositions, last) && !points.MatchString(v)
	}
	return true
}

func pastTense(w string) bool { return strings.HasSuffix(w, "ed") && len(w) > 5 }

func stripLeadIns(s string) string {
	for range 3 {
		s = strings.TrimSpace(leadIn.ReplaceAllString(s, ""))
	}
	return s
}

// clauses splits a sentence where another subject may begin. A sentence that is unreal from
// its beginning has none.
func clauses(s string) (out []string) {
	if first, _, _ := strings.Cut(s, " "); unreal.MatchString(first) {
		return nil
	}
	for from := 0; ; {
		at := clauseEnd.FindStringSubmatchIndex(s[from:])
		if at == nil {
			return append(out, stripLeadIns(s[from:]))
		}
		next := from + at[1]
		if at[2] >= 0 { // "and I": the next clause begins with its subject
			next = from + at[2]
		} else if strings.HasPrefix(strings.ToLower(s[from+at[0]:]), " so ") {
			next = from + at[0] + len(" so ")
		}
		// The whole rest is tried first: "Paris, France" is one value.
		out = append(out, stripLeadIns(s[from:from+at[0]]))
		from = next
	}
}

var (
	nowhere      = strings.Fields("slack teams zoom discord gmail outlook accounting engineering sales marketing finance legal hr it support operations home night nights day days work")
	articles     = strings.Fields("the all my our any every each some")
	prepositions = strings.Fields("to a an the my our at on in of for with by from about and or going")
)

var abbreviation = regexp.MustCompile(`(?:^|\s)(?:\p{Lu}|St|Dr|Mr|Mrs|Ms|Prof|No|vs)$`)

// sentences splits a text at full stops, exclamation and question marks, and line ends. Of
// the marks only the question mark is kept.
func sentences(text string) (out []string) {
	start := 0
	cut := func(end int, mark string) {
		if s := strings.TrimSpace(text[start:end]); s != "" {
			out = append(out, s+mark)
		}
	}
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n':
			cut(i, "")
		case (c == '.' || c == '!' || c == '?') && (i+1 == len(text) || strings.IndexByte(" \n?!.)", text[i+1]) >= 0) && (c != '.' || !abbreviation.MatchString(text[start:i])):
			mark := ""
			if c == '?' {
				mark = "?"
			}
			cut(i, mark)
		default:
			continue
		}
		start = i + 1
	}
	cut(len(text), "")
	return out
}
