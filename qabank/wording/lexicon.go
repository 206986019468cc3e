package wording

import (
	"embed"
	"strings"
	"sync"
)

//go:embed lists/*.txt
var lists embed.FS

// form is how a verb stands.
type form uint8

const (
	base form = 1 << iota
	third
	past
	participle
	ing
)

type inflected struct {
	lemma string
	form  form
}

// lexicon is what the lists say.
type lexicon struct {
	verbs     map[string]bool        // base forms
	irregular map[string][]inflected // other forms
	nouns     map[string]string      // plurals without a rule, words in -ing that are nouns
	phrases   map[string]string      // words in base form → name of their group
	longest   int                    // words of the longest phrase
	small     map[string]map[string]bool
	polite    map[string]bool
	kinds     map[string]string
	measures  map[string]string
	opposites map[[2]string]bool
	derived   map[string]derived
	rewrites  map[string]string
	frames    []frame
	places    map[string]map[string]int // list → word → its place
	shorts    map[string]int            // three letters of a month → its number
}

// derived says that "KIND is the NOUN of" is another question: its kind, its
// verb, and the form in which that stands.
type derived struct {
	from, to, verb string
	form           form
}

var english = sync.OnceValue(func() *lexicon {
	x := &lexicon{
		verbs: map[string]bool{}, irregular: map[string][]inflected{}, nouns: map[string]string{},
		phrases: map[string]string{}, small: map[string]map[string]bool{}, polite: map[string]bool{},
		kinds: map[string]string{}, measures: map[string]string{}, opposites: map[[2]string]bool{}, derived: map[string]derived{}, rewrites: map[string]string{},
		places: map[string]map[string]int{}, shorts: map[string]int{},
	}
	for _, list := range []string{ones, tens, nths, ties, months, days} {
		x.places[list] = map[string]int{}
		for i, w := range strings.Fields(list) {
			x.places[list][w] = i
		}
	}
	for i, w := range strings.Fields(months) {
		x.shorts[w[:3]] = i + 1
	}
	lines("verbs", x.addVerbs)
	lines("nouns", func(l string) { a, b, _ := strings.Cut(l, " "); x.nouns[a] = b })
	lines("small", func(l string) {
		name, rest, _ := strings.Cut(l, ":")
		set := map[string]bool{}
		for _, w := range strings.Fields(rest) {
			set[strings.ReplaceAll(w, "-", " ")] = true
		}
		x.small[name] = set
	})
	lines("groups", x.addGroup)
	lines("polite", func(l string) { x.polite[l] = true })
	lines("kinds", func(l string) { kind, text, _ := strings.Cut(l, ": "); x.kinds[text] = kind })
	lines("measures", func(l string) { a, b, _ := strings.Cut(l, " "); x.measures[a] = b })
	lines("opposites", func(l string) {
		a, b, _ := strings.Cut(l, " ")
		x.opposites[[2]string{x.group(a), x.group(b)}] = true
		x.opposites[[2]string{x.group(b), x.group(a)}] = true
	})
	lines("derived", func(l string) {
		f := strings.Fields(l)
		n := len(f) - 3
		d := derived{from: f[n], to: f[n+1], verb: strings.TrimLeft(f[n+2], "-+"), form: third}
		if f[n+2][0] == '+' {
			d.form = past
		}
		x.derived[strings.Join(f[:n], " ")] = d
	})
	lines("frames", func(l string) { x.frames = append(x.frames, parseFrame(l)) })
	lines("rewrites", func(l string) { a, b, _ := strings.Cut(l, " = "); x.rewrites[a] = b })
	return x
})

// lines calls fn with each line of a list that says something.
func lines(list string, fn func(line string)) {
	data, err := lists.ReadFile("lists/" + list + ".txt")
	if err != nil {
		return // the compiler has seen to it that they are there
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			fn(line)
		}
	}
}

func (x *lexicon) addVerbs(line string) {
	f := strings.Fields(line)
	if f[0] != "=" {
		for _, v := range f {
			x.verbs[v] = true
		}
		return
	}
	lemma := f[1]
	x.verbs[lemma] = true
	for i, forms := range f[2:4] {
		for _, w := range strings.Split(forms, "/") {
			x.irregular[w] = append(x.irregular[w], inflected{lemma, past << i})
		}
	}
}

func (x *lexicon) addGroup(line string) {
	group := strings.Split(line, "|")
	name := strings.TrimSpace(group[0])
	for _, w := range group {
		w = strings.TrimSpace(w)
		x.phrases[w] = name
		x.longest = max(x.longest, strings.Count(w, " ")+1)
	}
}

// group is the name of a word's group: its own if it is in none.
func (x *lexicon) group(w string) string {
	if g, ok := x.phrases[w]; ok {
		return g
	}
	return w
}

func (x *lexicon) is(list, w string) bool { return x.small[list][w] }

// lemma is the base form of a word, and the forms of a verb it may be.
func (x *lexicon) lemma(w string) (string, form) {
	if n, ok := x.nouns[w]; ok {
		return n, 0
	}
	switch w {
	case "is", "are", "am", "'re", "'m":
		return "be", third
	case "has", "'ve":
		return "have", third
	case "does":
		return "do", third
	case "being":
		return "be", ing
	case "goes":
		return "go", third
	}
	if all := x.irregular[w]; len(all) > 0 {
		f := form(0)
		for _, i := range all {
			if i.lemma == all[0].lemma {
				f |= i.form
			}
		}
		if x.verbs[w] { // cut, put, found, felt
			return w, f | base
		}
		return all[0].lemma, f
	}
	if x.verbs[w] {
		return w, base
	}
	for _, end := range []struct {
		suffix string
		form   form
	}{{"ing", ing}, {"ed", past | participle}} {
		if stem, ok := strings.CutSuffix(w, end.suffix); ok {
			if v := x.stem(stem); v != "" {
				return v, end.form
			}
		}
	}
	return x.singular(w)
}

// formOf says whether w is a form of a verb.
func (x *lexicon) formOf(w, verb string) bool {
	l, f := x.lemma(w)
	return l == verb && f != 0
}

// stem finds the verb that was cut for -ing or -ed.
func (x *lexicon) stem(s string) string {
	n := len(s)
	if n < 2 {
		return ""
	}
	try := []string{s, s + "e"}
	if s[n-1] == s[n-2] {
		try = []string{s, s[:n-1]}
	}
	if s[n-1] == 'i' { // tried
		try = append(try, s[:n-1]+"y")
	}
	if s[n-1] == 'y' { // lying
		try = append(try, s[:n-1]+"ie")
	}
	for _, v := range try {
		if x.verbs[v] {
			return v
		}
	}
	return ""
}

// singular takes the -s off a noun or verb.
func (x *lexicon) singular(w string) (string, form) {
	n := len(w)
	if n < 4 || w[n-1] != 's' || strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "us") || strings.HasSuffix(w, "is") {
		return w, 0
	}
	one := w[:n-1]
	switch {
	case strings.HasSuffix(w, "ies") && n > 4:
		one = w[:n-3] + "y"
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "xes"), strings.HasSuffix(w, "ches"), strings.HasSuffix(w, "shes"), strings.HasSuffix(w, "zzes"):
		if !x.verbs[one] {
			one = w[:n-2]
		}
	}
	if x.verbs[one] {
		return one, third
	}
	return one, 0
}
