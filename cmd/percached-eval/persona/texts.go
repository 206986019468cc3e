package persona

import (
	"embed"
	"strings"
)

//go:embed texts/*.txt
var texts embed.FS

// tale is a kind of fact.
type tale struct {
	name  string
	slots []slot
	named []int // slots that its questions name
	title string
	says  string
	asks  []ask
}

// slot is a gap in the lines of a tale. list names its values.
type slot struct{ name, list string }

// ask is a slot that can be asked for, with several wordings.
type ask struct {
	slot  int
	lines []string
}

// lexicon has the contents of the text files.
type lexicon struct {
	tales   []*tale
	words   map[string][]string
	talk    map[string][]string
	letters map[string][]string
}

func read() *lexicon {
	x := &lexicon{words: map[string][]string{}, talk: sections("talk"), letters: sections("letters")}
	for _, l := range lines("words") {
		list, words, _ := strings.Cut(l, ": ")
		x.words[list] = append(x.words[list], strings.Split(words, ", ")...)
	}
	x.words["relic"] = strings.Fields(strings.Join(x.letters["relic"], " "))
	for _, l := range lines("facts") {
		if name, ok := strings.CutPrefix(l, "fact "); ok {
			x.tales = append(x.tales, &tale{name: name})
			continue
		}
		x.tales[len(x.tales)-1].parse(l)
	}
	return x
}

// parse parses a line of the tale.
func (t *tale) parse(l string) {
	if line, ok := strings.CutPrefix(l, "  "); ok {
		a := &t.asks[len(t.asks)-1]
		a.lines = append(a.lines, line)
		return
	}
	word, rest, _ := strings.Cut(l, " ")
	switch word {
	case "slots":
		for _, f := range strings.Fields(rest) {
			name, list, _ := strings.Cut(f, ":")
			t.slots = append(t.slots, slot{name, list})
		}
	case "named":
		for _, name := range strings.Fields(rest) {
			t.named = append(t.named, t.slot(name))
		}
	case "title":
		t.title = rest
	case "says":
		t.says = rest
	case "ask":
		t.asks = append(t.asks, ask{slot: t.slot(rest)})
	}
}

func (t *tale) slot(name string) int {
	for i, s := range t.slots {
		if s.name == name {
			return i
		}
	}
	return -1
}

// fill replaces the gaps of a line with values.
func (t *tale) fill(line string, values []string) string {
	return capital(gaps(line, func(name string) string { return values[t.slot(name)] }))
}

// gaps replaces each {gap} of a line with the result of with.
func gaps(line string, with func(name string) string) string {
	var b strings.Builder
	for {
		before, after, ok := strings.Cut(line, "{")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		name, rest, _ := strings.Cut(after, "}")
		b.WriteString(with(name))
		line = rest
	}
}

// capital makes the first letter, which is ASCII, a capital.
func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// sections returns the indented lines under each heading.
func sections(name string) map[string][]string {
	out := map[string][]string{}
	heading := ""
	for _, l := range lines(name) {
		if line, ok := strings.CutPrefix(l, "  "); ok {
			out[heading] = append(out[heading], line)
		} else {
			heading = l
		}
	}
	return out
}

// lines returns the lines of a text without empty lines and comments.
func lines(name string) []string {
	b, err := texts.ReadFile("texts/" + name + ".txt")
	if err != nil {
		panic("persona: " + err.Error()) // the file is embedded
	}
	var out []string
	for l := range strings.Lines(string(b)) {
		if l = strings.TrimRight(l, "\n"); l != "" && l[0] != '#' {
			out = append(out, l)
		}
	}
	return out
}
