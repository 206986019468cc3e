package predictor

import (
	"slices"
	"strings"
	"unicode"
)

var (
	// Words that begin a question by themselves.
	interrogatives = strings.Fields(`who whom whose what when where which why how
		wer wen wem wessen was wann wo warum wieso weshalb welche welcher welches wie wieviel
		qui que quoi quand où pourquoi comment combien quel quelle quels quelles
		quién qué cuándo dónde cuál cómo cuánto cuánta chi cosa quando dove perché quale quanto`)
	// Words that may stand before one: "In which room", "And when".
	leads = strings.Fields(`and or but so in on at by for from to with since until till of about under near`)
	// Words that begin a question before its subject.
	auxiliaries = strings.Fields(`is are was were am do does did have has had can could will would should shall may might must
		isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't couldn't won't wouldn't shouldn't`)
	subjects = strings.Fields(`the a an my our your his her its their i you he she it we they there this that these those any anyone anybody everyone someone`)
	// What introduces a list, and is no part of what stands behind it.
	intros = strings.Fields(`sure certainly absolutely okay ok yes great alright`)
)

// chatter is how models speak to the user of what they print, in the form of a
// question.
var chatter = []string{
	"would you like", "do you want me", "do you need", "shall i", "should i ", "is there anything else", "anything else", "can i help",
	"can i assist", "how can i help", "how may i help", "how can i assist", "how may i assist", "may i help", "what would you like",
	"does this help", "does that help", "is this what you", "are these questions", "are these helpful", "are you looking for", "do these questions",
	"let me know", "feel free", "i hope", "please let me know", "i can help", "i'm sorry", "i am sorry", "as an ai", "here are", "these are",
}

// questioning says that a sentence begins as questions do.
func questioning(s string) bool {
	s = s[:min(len(s), 64)] // two words say it
	words := strings.Fields(strings.ToLower(strings.ReplaceAll(s, "’", "'")))
	if len(words) < 2 {
		return false
	}
	first := bareWord(words[0])
	short, _, _ := strings.Cut(first, "'") // what's
	second := bareWord(words[1])
	switch {
	case slices.Contains(interrogatives, short), slices.Contains(interrogatives, first):
		return true
	case slices.Contains(leads, first):
		return slices.Contains(interrogatives, second)
	}
	// "Have a look" is a request.
	return slices.Contains(auxiliaries, first) && slices.Contains(subjects, second) && !(first == "have" && len(second) < 4 && strings.Contains("a an the", second))
}

func bareWord(w string) string {
	return strings.TrimFunc(w, func(r rune) bool { return !unicode.IsLetter(r) })
}

// chats says that a question is the model's own to the user.
func chats(q string) bool {
	q = strings.ToLower(strings.ReplaceAll(q, "’", "'"))
	return slices.ContainsFunc(chatter, func(c string) bool { return strings.HasPrefix(q, c) })
}

// unintroduced takes an introduction off a piece: "Sure! Here is one: ...".
func unintroduced(s string) string {
	low := strings.ToLower(s)
	first := low
	if at := strings.IndexFunc(low, func(r rune) bool { return !unicode.IsLetter(r) }); at >= 0 {
		first = low[:at]
	}
	intro := slices.Contains(intros, first)
	here := strings.HasPrefix(low, "here ") || strings.HasPrefix(low, "here's ") || strings.HasPrefix(low, "here’s ")
	if !intro && !here {
		return s
	}
	if at := strings.Index(s, ": "); at >= 0 && at < 120 && !strings.ContainsAny(s[:at], questionMarks) {
		return s[at+2:]
	}
	if intro && len(first) < len(s) && strings.ContainsRune("!,.:", rune(s[len(first)])) {
		return unintroduced(strings.TrimLeft(s[len(first)+1:], " !.,:"))
	}
	return s
}

// placeholders are what the prompts leave to be filled in.
var placeholders = []string{"{kind}", "{count}", "{abstract}", "{history}", "{text}"}

// placeholding says that a question was copied from the prompt: its examples
// speak of XXX.
func placeholding(q string) bool {
	for w := range strings.FieldsFuncSeq(q, func(r rune) bool { return !isWordRune(r) }) {
		if len(w) > 1 && strings.Trim(w, "X") == "" {
			return true
		}
	}
	return slices.ContainsFunc(placeholders, func(p string) bool { return strings.Contains(q, p) })
}
