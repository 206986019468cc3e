package fact

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var said = time.Date(2026, 3, 4, 15, 0, 0, 0, time.UTC)

func TestExtract(t *testing.T) {
	for _, c := range []struct {
		statement string
		want      []string // WHAT=VALUE
	}{
		{"My name is Ana Ruiz.", []string{"name=Ana Ruiz"}},
		{"Hi, call me Bo please", []string{"name=Bo"}},
		{"I live in Bergen and I work at Equinor as an engineer.", []string{"home=Bergen", "employer=Equinor"}},
		{"I work as a nurse", []string{"job=a nurse"}},
		{"I'm a software engineer. What is new?", []string{"job=software engineer"}},
		{"i live in bergen", []string{"home=bergen"}},
		{"By the way, I moved to Paris, France last year!", []string{"home=Paris"}},
		{"I'm allergic to peanuts and shellfish.", []string{"allergy=peanuts and shellfish"}},
		{"My sister is Mia. My best friend Tom lives here.", []string{"sister=Mia", "friend=Tom"}},
		{"I have a dog named Rex", []string{"dog=Rex"}},
		{"My birthday is on 3 May 1990.", []string{"birthday=3 May 1990"}},
		{"I prefer tea, but I hate instant coffee", []string{"prefers=tea", "dislikes=instant coffee"}},
		{"My favorite color is green.", []string{"favourite colour=green"}},
		{"I’m vegetarian", []string{"diet=vegetarian"}},
		{"My phone number is +47 555 12 345", []string{"phone=+47 555 12 345"}},
		{"Please remember that my car is parked in B2", []string{"note=my car is parked in B2"}},
		{"Remember that I live in Oslo.", []string{"home=Oslo"}},
		{"I like hiking. I like hiking.", []string{"likes=hiking"}},

		{"Do I live in Bergen?", nil},
		{"What is my sister Ana's number?", nil},
		{"If I live in Paris, I pay more", nil},
		{"I would live in Paris", nil},
		{"I don't live in Bergen", nil},
		{"I live in a small house", nil},
		{"I live in the moment", nil},
		{"Call me when you are there", nil},
		{"Call me back", nil},
		{"My sister is German", nil},
		{"My sister is happy", nil},
		{"I like your idea", nil},
		{"I love it!", nil},
		{"I love how you write", nil},
		{"I love the colours", nil},
		{"I like going to", nil},
		{"I like games that make me think", nil},
		{"She said I work at Google", nil},
		{`Translate "I live in Rome"`, nil},
		{"Remember when we met", nil},
		{"Who leads Heron?", nil},
		{"My password is hunter2. I live in Oslo.", nil},
		{strings.Repeat("I live in Oslo. ", 500), nil},
		{"I live in \xff", nil},
		{"", nil},
	} {
		var got []string
		for _, r := range Extract(c.statement, said) {
			got = append(got, r.What+"="+r.Value)
			if !strings.Contains(c.statement, r.Value) || !r.Heard || r.Said != Day(said) || r.Since != Day(said) {
				t.Errorf("%.60q: record %+v is not of the statement", c.statement, r)
			}
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%.60q (-want +got):\n%s", c.statement, d)
		}
	}
}

func TestSecret(t *testing.T) {
	for _, c := range []struct {
		text, want string
	}{
		{"my password is hunter2", "a password, PIN or other secret"},
		{"The PIN of my phone is 4711", "a password, PIN or other secret"},
		{"cvv 123", "a password, PIN or other secret"},
		{"pay with 4111 1111 1111 1111", "a card number"},
		{"5500-0000-0000-0004", "a card number"},
		{"378282246310005", "a card number"},
		{"send it to DE89 3704 0044 0532 0130 00 please", "an account number"},
		{"GB82WEST12345698765432", "an account number"},
		{"I am 078-05-1120", "a social security number"},
		{"sk-abcdEFGH1234567890", "a key or token"},
		{"AKIAIOSFODNN7EXAMPLE", "a key or token"},
		{"ghp_16C7e42F292c6912E7710c838347Ae178B4a", "a key or token"},
		{"-----BEGIN OPENSSH PRIVATE KEY-----", "a key or token"},
		{"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "a key or token"},
		{"use f3A9kQ2zX7mB1vT6", "a key or token"},
		{"3f786850e387550fdab836ed7e6dc881de23001b", "a key or token"},

		{"I live in Bergen", ""},
		{"My phone number is +47 555 12 345", ""},
		{"pay with 4111 1111 1111 1112", ""},
		{"DE89 3704 0044 0532 0130 01", ""},
		{"I was born on 12.05.1990", ""},
		{"I like pins and passengers", ""},
		{"see https://example.com/a/b1c2d3e4f5", ""},
		{"ana.ruiz.1990@example.com", ""},
		{"Donaudampfschifffahrtsgesellschaft", ""},
		{"I like internationalization", ""},
	} {
		if got := Secret(c.text); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestRecord(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 3, d, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		r           Record
		title, body string
	}{
		{Record{What: "home", Value: "Bergen", Since: day(4), Said: day(4), Heard: true}, "Memory: home", "The user lives in Bergen. (since 2026-03-04; said in a conversation on 2026-03-04)"},
		{Record{What: "home", Value: "Oslo", Since: day(1), Until: day(4), Said: day(1)}, "Memory: home", "The user lived in Oslo. (since 2026-03-01; until 2026-03-04; entered on 2026-03-01)"},
		{Record{Who: "Mia", What: "phone", Value: "555 12", Said: day(2)}, "Memory: Mia: phone", "Mia's phone is 555 12. (entered on 2026-03-02)"},
		{Record{What: Note, Value: "my car is in B2. (really) (entered on 2026-03-02)", Said: day(2)}, "Memory: note", "The user said: my car is in B2. (really) (entered on 2026-03-02). (entered on 2026-03-02)"},
	} {
		if err := c.r.Check(); err != nil {
			t.Errorf("%+v: %v", c.r, err)
		}
		if c.r.Title() != c.title || c.r.Body() != c.body {
			t.Errorf("%q %q, want %q %q", c.r.Title(), c.r.Body(), c.title, c.body)
		}
		got, err := Parse(c.title, c.body)
		if d := cmp.Diff(c.r, got); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", c.body, err, d)
		}
	}
	for _, wrong := range [][2]string{
		{"home", "The user lives in Bergen. (entered on 2026-03-04)"},
		{"Memory: home", "The user lives in Bergen."},
		{"Memory: home", "The user works at Bergen. (entered on 2026-03-04)"},
		{"Memory: home", "The user lives in Bergen. (entered on 2026-13-04)"},
		{"Memory: home", "The user lives in . (entered on 2026-03-04)"},
	} {
		if _, err := Parse(wrong[0], wrong[1]); err == nil {
			t.Errorf("%q was parsed", wrong)
		}
	}
}

func TestCheck(t *testing.T) {
	ok := Record{What: "home", Value: "Bergen", Since: said, Said: said}
	for name, c := range map[string]struct {
		change func(*Record)
		field  string
	}{
		"nothing":         {func(*Record) {}, ""},
		"no attribute":    {func(r *Record) { r.What = "" }, "what"},
		"long attribute":  {func(r *Record) { r.What = "a b c d e" }, "what"},
		"colon":           {func(r *Record) { r.What = "home: x" }, "what"},
		"who":             {func(r *Record) { r.Who = "Ana\nRuiz" }, "who"},
		"no value":        {func(r *Record) { r.Value = "" }, "value"},
		"long value":      {func(r *Record) { r.Value = strings.Repeat("x", 201) }, "value"},
		"lines":           {func(r *Record) { r.Value = "a\nb" }, "value"},
		"secret":          {func(r *Record) { r.Value = "4111111111111111" }, "value"},
		"ends before":     {func(r *Record) { r.Until = said.AddDate(0, 0, -1) }, "until"},
		"long note":       {func(r *Record) { r.What, r.Value = Note, strings.Repeat("x", MaxNote) }, ""},
		"too long a note": {func(r *Record) { r.What, r.Value = Note, strings.Repeat("x", MaxNote+1) }, "value"},
	} {
		r := ok
		c.change(&r)
		got := ""
		if err := r.Check(); err != nil {
			got = err.(*FieldError).Field
		}
		if got != c.field {
			t.Errorf("%s: field %q, want %q", name, got, c.field)
		}
	}
}

func TestDecide(t *testing.T) {
	facts := []Record{
		{What: "home", Value: "Bergen"},
		{What: "home", Value: "Oslo", Until: said},
		{What: "sister", Value: "Mia"},
		{What: "allergy", Value: "peanuts"},
		{Who: "Tom", What: "phone", Value: "555 12"},
		{What: "likes", Value: "hiking"},
	}
	for _, c := range []struct {
		question string
		needed   bool
		best     []int
	}{
		{"Where do I live?", true, []int{0, 1}},
		{"Where did we live before?", true, []int{0, 1}},
		{"What am I allergic to?", true, []int{3}},
		{"What should I cook for dinner?", true, []int{3}},
		{"Who is my sister?", true, []int{2}},
		{"When does Mia arrive?", true, []int{2}},
		{"What is Tom's phone number?", true, []int{4}},
		{"Where is hiking forbidden?", true, nil},
		{"What is in our contract?", true, nil},
		{"Who leads Heron?", false, nil},
		{"Tell me the budget of Heron.", false, nil},
		{"Can you show me the plan?", false, nil},
		{"I want to know who leads Heron", false, nil},
		{"Does the US office open?", false, nil},
		{"What does the tomcat eat?", false, nil},
	} {
		d := Decide(c.question, facts)
		if d.Needed != c.needed || cmp.Diff(c.best, d.Best) != "" || d.Why == "" {
			t.Errorf("%q: %+v, want %v %v", c.question, d, c.needed, c.best)
		}
	}
}

func FuzzExtract(f *testing.F) {
	f.Add("Hi, my name is Ana and I live in Bergen, Norway. Remember that my sister Mia likes tea!")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range Extract(s, said) {
			got, err := Parse(r.Title(), r.Body())
			if d := cmp.Diff(r, got); d != "" || err != nil {
				t.Errorf("%q: %v (-written +read):\n%s", s, err, d)
			}
		}
	})
}
