package grammar

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/percached/percached/internal/base/fault"
)

func parsed(t *testing.T, text string) *Grammar {
	t.Helper()
	g, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// whole reports whether a grammar has a text, given a byte at a time and at once.
func whole(t *testing.T, g *Grammar, text string) bool {
	t.Helper()
	m, once := g.Matcher(), g.Matcher()
	ok := true
	for i := range len(text) {
		first := m.First()[text[i]]
		if ok = m.Accept([]byte{text[i]}); !ok {
			break
		}
		if !first {
			t.Errorf("%q: byte %d is allowed, and First has it not", text, i)
		}
	}
	ok = ok && m.MayEnd()
	allowed := text == "" || once.Allows([]byte(text))
	if allowed != (text == "" || once.Accept([]byte(text))) {
		t.Errorf("%q: Allows and Accept differ", text)
	}
	if all := allowed && once.MayEnd(); all != ok {
		t.Errorf("%q: %v by bytes, %v at once", text, ok, all)
	}
	return ok
}

func TestMatcher(t *testing.T) {
	for name, c := range map[string]struct {
		grammar string
		yes, no []string
	}{
		"literal":        {`root ::= "ab"`, []string{"ab"}, []string{"", "a", "abc", "b"}},
		"choice":         {`root ::= "a" | "ab" | "c"`, []string{"a", "ab", "c"}, []string{"", "b", "ac"}},
		"empty":          {`root ::= `, []string{""}, []string{"a"}},
		"star":           {`root ::= "ab"*`, []string{"", "ab", "abab"}, []string{"a", "aba"}},
		"plus":           {`root ::= [a-c]+`, []string{"a", "cab"}, []string{"", "d", "ad"}},
		"option":         {`root ::= "a"? "b"?`, []string{"", "a", "b", "ab"}, []string{"ba", "aa"}},
		"exactly":        {`root ::= "a"{2}`, []string{"aa"}, []string{"", "a", "aaa"}},
		"at least":       {`root ::= "a"{2,}`, []string{"aa", "aaaa"}, []string{"", "a"}},
		"between":        {`root ::= ("a" | "bc"){1, 3}`, []string{"a", "bca", "bcbcbc"}, []string{"", "aaaa", "b"}},
		"none":           {`root ::= "a"{0} "b"`, []string{"b"}, []string{"ab", ""}},
		"not":            {`root ::= [^a-c\n]`, []string{"d", "é", "🙂"}, []string{"a", "c", "\n", "", "\xff"}},
		"any":            {`root ::= .`, []string{"d", "é", "🙂", "\n"}, []string{"", "dd", "\xc3"}},
		"letters":        {`root ::= [α-ω]+ "→" [é🙂]`, []string{"αβ→é", "ω→🙂"}, []string{"a→é", "α→e", "α"}},
		"escapes":        {`root ::= "\"\\\n\t\x41\u00e9\U0001F642" [\]\[]`, []string{"\"\\\n\tAé🙂]", "\"\\\n\tAé🙂["}, []string{"A"}},
		"lines":          {"# first\nroot ::= (\n a |\n\n b # c\n)\n\na ::=\n\"a\"\nb ::= \"b\"", []string{"a", "b"}, []string{"ab"}},
		"recursion":      {`root ::= "(" root ")" | ""`, []string{"", "()", "((()))"}, []string{"(", "(()", "())"}},
		"left recursion": {`root ::= root "a" | "b"`, []string{"b", "baaa"}, []string{"", "a", "ab"}},
		"hidden left recursion": {
			"root ::= x root \"a\" | \"b\"\nx ::= y\ny ::= \"\"",
			[]string{"b", "ba", "baa"},
			[]string{"", "a", "ab"},
		},
		"empty loops": {`root ::= (("a"*)* ("" | "b")*)*`, []string{"", "a", "ba", "aabba"}, []string{"c"}},
		"self":        {"root ::= root | \"a\"", []string{"a"}, []string{"", "aa"}},
		"palindromes": {`root ::= "a" root "a" | "b" root "b" | "a" | "b"`, []string{"a", "aba", "abbbbba"}, []string{"ab", "abb", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			g := parsed(t, c.grammar)
			for _, text := range c.yes {
				if !whole(t, g, text) {
					t.Errorf("%q is refused", text)
				}
			}
			for _, text := range c.no {
				if whole(t, g, text) {
					t.Errorf("%q is allowed", text)
				}
			}
		})
	}
}

// A text that may not go on must end; one that may go on need not.
func TestEnds(t *testing.T) {
	m := parsed(t, `root ::= "a" "b"? "é"?`).Matcher()
	for _, c := range []struct {
		text      string
		may, must bool
	}{{"a", true, false}, {"b", true, false}, {"\xc3", false, false}, {"\xa9", true, true}} {
		if !m.Accept([]byte(c.text)) || m.MayEnd() != c.may || m.MustEnd() != c.must {
			t.Errorf("behind %q: may end %v, must end %v", c.text, m.MayEnd(), m.MustEnd())
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ grammar, want string }{
		{"", "no rule root"},
		{`a ::= "b"`, "no rule root"},
		{`root ::= a`, "no rule a"},
		{"root ::= \"a\"\nroot ::= \"b\"", "line 2 of the grammar: the rule root is defined twice"},
		{`root = "a"`, "needs ::="},
		{`root ::= "a`, "not closed"},
		{`root ::= [a`, "not closed"},
		{`root ::= []`, "empty"},
		{`root ::= [b-a]`, "ends before it begins"},
		{`root ::= ("a"`, "not closed"},
		{`root ::= "a")`, "unexpected"},
		{`root ::= *`, "unexpected"},
		{`root ::= "a"**`, "unexpected"},
		{`root ::= "a"{2`, "not closed"},
		{`root ::= "a"{x}`, "0 to 10000"},
		{`root ::= "a"{-1}`, "0 to 10000"},
		{`root ::= "a"{3,2}`, "3 to 10000"},
		{`root ::= "a"{1,99999}`, "1 to 10000"},
		{`root ::= "\q"`, "unknown escape"},
		{`root ::= "\x4"`, "names no character"},
		{`root ::= "\ud800"`, "names no character"},
		{`root ::= <token>`, "unexpected"},
		{`root ::= ((("a"{9999}){9999}){9999}){9999}`, "too large"},
		{`root ::= ` + strings.Repeat("(", 100) + strings.Repeat(")", 100), "parentheses"},
		{"root ::= \"a\"" + strings.Repeat(" ", maxText), "at most"},
		{"root ::= \"\xff\"", "not UTF-8"},
		{`root ::= "a" root`, "the rule root never ends"},
		{"root ::= \"a\" | b\nb ::= c\nc ::= \"x\" b", "never ends"},
	} {
		_, err := Parse(c.grammar)
		if fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40q: want invalid with %q, got %v", c.grammar, c.want, err)
		}
	}
}

// What takes llama.cpp's matcher exponential time is followed in steps of equal size, or
// refused.
func TestManyReadings(t *testing.T) {
	var doubled strings.Builder
	doubled.WriteString("root ::= r0\n")
	for i := range 100 {
		n := string(rune('0'+i/10%10)) + string(rune('0'+i%10))
		next := string(rune('0'+(i+1)/10%10)) + string(rune('0'+(i+1)%10))
		doubled.WriteString("r" + n + " ::= r" + next + " | r" + next + "\n")
	}
	text := strings.Replace(doubled.String(), "r0\n", "r00\n", 1)
	text = strings.Replace(text, "r99 ::= r00 | r00", `r99 ::= "a"`, 1)
	if !whole(t, parsed(t, text), "a") {
		t.Error("the text of a rule of many readings is refused")
	}
	nested := parsed(t, `root ::= "a" root "b" | "a" root "c" | ""`)
	if !whole(t, nested, strings.Repeat("a", 200)+strings.Repeat("bc", 100)) {
		t.Error("an ambiguous nested text is refused")
	}
	m := parsed(t, `root ::= (("a"{0,300}){0,300} "b")*`).Matcher()
	for range 50 {
		m.Accept([]byte("a"))
	}
	if m.MayEnd() && !m.Over() {
		t.Error("an incomplete text may end")
	}
}

// No text crashes the parser, and no answer the matcher; a byte that is allowed is
// allowed by First as well.
func FuzzGrammar(f *testing.F) {
	f.Add(`root ::= "a" [b-d]* (x | "é"){1,3}`+"\nx ::= root? \"y\"", "abcdéy")
	f.Add(`root ::= root "a" | [^"\\]`, "é🙂a")
	f.Fuzz(func(t *testing.T, text, answer string) {
		g, err := Parse(text)
		if err != nil {
			if fault.KindOf(err) != fault.Invalid {
				t.Fatal(err)
			}
			return
		}
		m, once := g.Matcher(), g.Matcher()
		accepted := 0
		for i := range min(len(answer), 64) {
			first := m.First()[answer[i]]
			if !m.Accept([]byte{answer[i]}) {
				break
			}
			if !first {
				t.Fatalf("byte %d of %q is allowed, and First has it not", i, answer)
			}
			accepted++
		}
		if accepted > 0 && utf8.ValidString(answer[:accepted]) && !m.Over() && !once.Allows([]byte(answer[:accepted])) {
			t.Fatalf("%q is allowed by bytes and not at once", answer[:accepted])
		}
	})
}
