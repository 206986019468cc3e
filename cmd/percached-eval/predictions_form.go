package main

import (
	"strings"
	"unicode"
)

// Words for judging the form of a question; see docs/prediction.md.
const (
	interrogatives lexicon = "who whom whose what which when where why how "
	// Prepositions and conjunctions that may precede an interrogative.
	leading lexicon = "in on at for to from with by of about under until since during after before and "
	beforms lexicon = "is are was were am be been being isn't aren't wasn't weren't "
	doforms lexicon = "do does did don't doesn't didn't "
	haves   lexicon = "have has had haven't hasn't hadn't "
	modals  lexicon = "can could will would shall should may might must can't cannot couldn't won't wouldn't shouldn't "
	// Verbs in the form that follows "did" or "will".
	verbs lexicon = "accept achieve act add address admit advise affect agree aim allow announce answer appear apply approach approve arrange arrive ask assign " +
		"attach attend avoid base be become begin believe belong book break bring build buy call cancel carry cause change charge check choose " +
		"claim clean close collect come comment compare complain complete confirm connect consider contact contain continue contribute correct cost cover " +
		"create cut date deal decide define deliver depart depend describe design detail determine develop differ direct disagree discuss do draw drink drive drop " +
		"earn eat elaborate email employ enclose end enjoy ensure enter evaluate expect explain express face fail fall feed feel file fill find finish fit fix " +
		"focus follow forget forward gather get give go grow guarantee handle happen have hear help highlight hold hope host identify imply improve include " +
		"increase indicate inform install intend introduce invest invite involve join keep know last lead learn leave lend let like list live " +
		"look lose make manage mark matter mean measure meet mention miss move need notice notify occur offer open operate order organise " +
		"organize owe own park participate pass pay pick plan play post prefer prepare present prevent produce promise propose provide purchase " +
		"put raise reach read receive recommend record reduce refer regard relate release remain remember remind remove rent repair replace reply " +
		"report represent request require resolve respond result return review row run save say schedule see seem sell send serve set share show sign " +
		"sit speak spend stand start state stay stop submit suggest summarize supply support suppose switch take talk tell test thank think travel " +
		"treat trust try turn understand unlock update use visit vote wait walk want watch wear work worry write "
	// Irregular pasts.
	pasts lexicon = "became began bought broke brought built came chose cost did drew drove fell felt found gave got grew had heard held kept knew led left " +
		"lent let lost made meant met paid put ran read said sat saw sent set sold spent spoke stood stopped took thought told understood went won wore wrote "
	// Words that end no question.
	unended lexicon = "a an the my your his their our its this these and or but who whom whose which what of if as than so "
	// Words without content.
	little lexicon = "a an the this that these those there here it its he him his she her they them their i me my mine we us our ours you your yours " +
		"and or but if so as than then not no any some all each every both either most more much many few other another such only own same " +
		"in on at for to from with by of about into onto over under up down out off between among through during before after until since " +
		"within without against along across behind beyond per via let's please also just very too again " +
		"someone somebody anyone anybody something anything everything everyone one ones "
	// Attributes that are asked for.
	attributes lexicon = "name number date time day week month year hour kind type sort subject topic title purpose reason main mail email e-mail message " +
		"sender recipient author person people meeting document text content "
)

// lexicon is a list of words, each followed by a space.
type lexicon string

func (l lexicon) has(w string) bool {
	return w != "" && (strings.HasPrefix(string(l), w+" ") || strings.Contains(string(l), " "+w+" "))
}

// tokens returns the words of a text in lower case, without punctuation around them.
func tokens(text string) []string {
	text = strings.ReplaceAll(strings.ToLower(text), "’", "'")
	fields := strings.FieldsFunc(text, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("'-.&$@/", r)
	})
	var out []string
	for _, f := range fields {
		f, short := strings.CutSuffix(strings.Trim(f, "'-.&/@"), "'s")
		if f != "" {
			out = append(out, f)
		}
		if short && interrogatives.has(f) {
			out = append(out, "is")
		}
	}
	return out
}

func function(w string) bool {
	return interrogatives.has(w) || beforms.has(w) || doforms.has(w) || haves.has(w) || modals.has(w) || little.has(w)
}

// contentWords returns the content words of a question, each once.
func contentWords(question string) []string {
	var out []string
	seen := map[string]bool{}
	for _, w := range tokens(question) {
		if w = stem(w); !function(w) && !seen[w] {
			seen[w] = true
			out = append(out, w)
		}
	}
	return out
}

// stem removes the ending of the plural.
func stem(w string) string {
	if len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us") && !strings.HasSuffix(w, "is") {
		return strings.TrimSuffix(w, "s")
	}
	return w
}

// The reasons why a question is not well formed.
const (
	illMark  = "mark"  // not exactly one question mark at the end
	illStart = "start" // does not begin like a question
	illEnd   = "end"   // ends with a word that needs another one
	illVerb  = "verb"  // no verb, or none in the right place
	illTwice = "twice" // a content word twice, or any word twice in a row
	illEmpty = "empty" // no content word
	illWord  = "word"  // a token that is not a word
)

// illFormed returns what is wrong with the form of a question, or an empty text.
func illFormed(question string) string {
	q := strings.TrimSpace(question)
	ws := tokens(q)
	switch {
	case strings.Count(q, "?") != 1 || !strings.HasSuffix(q, "?"):
		return illMark
	case !begins(ws):
		return illStart
	case len(contentWords(q)) == 0:
		return illEmpty
	case unended.has(ws[len(ws)-1]) && len(ws) > 2:
		return illEnd
	}
	seen := map[string]bool{}
	for i, w := range ws {
		switch {
		case i > 0 && w == ws[i-1], seen[stem(w)] && !function(w):
			return illTwice
		case strings.HasSuffix(w, "n't") && !function(w):
			return illWord
		}
		seen[stem(w)] = true
	}
	if !verbal(ws) {
		return illVerb
	}
	return ""
}

// begins says that the words begin like a question: with an interrogative, with or without a
// preposition, or with an auxiliary.
func begins(ws []string) bool {
	if len(ws) < 2 {
		return false
	}
	return interrogatives.has(ws[0]) || leading.has(ws[0]) && interrogatives.has(ws[1]) || auxiliary(ws[0])
}

func auxiliary(w string) bool {
	return beforms.has(w) || doforms.has(w) || haves.has(w) || modals.has(w)
}

// verbal says that a verb is in the right place: after "do" and modals a plain form with a
// subject between, elsewhere any verb.
func verbal(ws []string) bool {
	at := -1
	for i, w := range ws {
		if auxiliary(w) {
			at = i
			break
		}
	}
	if at < 0 { // "Who wrote it?"
		for _, w := range ws[1:] {
			if verbs.has(w) || pasts.has(w) || strings.HasSuffix(w, "ed") || verbs.has(stem(w)) || verbs.has(strings.TrimSuffix(w, "es")) {
				return true
			}
		}
		return false
	}
	w, rest := ws[at], ws[at+1:]
	switch {
	case len(rest) == 0: // "... where they are?"
		return at > 1
	case doforms.has(w) && at == 1 && ws[0] == "who": // "Who did the work?"
		return true
	case doforms.has(w) && (beforms.has(rest[0]) || doforms.has(rest[0]) || haves.has(rest[0]) && rest[0] != "have"):
		return false
	case doforms.has(w), modals.has(w):
		first := 1 // the subject precedes it
		if modals.has(w) && at > 0 {
			first = 0 // "Who will come?"
		}
		for _, v := range rest[min(first, len(rest)):] {
			if verbs.has(v) || v == "have" || v == "do" {
				return true
			}
		}
		return false
	}
	return true
}
