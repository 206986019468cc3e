package answer

import (
	"testing"
	"unicode/utf8"
)

// A follow-up question is understood only if it can mean one thing.
func TestUnderstand(t *testing.T) {
	u := func(text string) Turn { return Turn{RoleUser, text} }
	a := func(text string) Turn { return Turn{RoleAssistant, text} }
	heron := []Turn{u("What is the budget of Heron?"), a("46 thousand euros.")}
	leader := []Turn{u("Who leads Heron?"), a("Ana Ruiz leads it.")}
	two := []Turn{u("Did Tom Okafor write to Ana Ruiz?"), a("Yes.")}
	for _, tc := range []struct {
		earlier []Turn
		text    string
		want    string // empty: uncertain
	}{
		{nil, "What is the budget of Heron?", "What is the budget of Heron?"},
		{heron, "Where does Maria Fox live?", "Where does Maria Fox live?"},
		{heron, "How does a tide gauge work?", "How does a tide gauge work?"},
		{heron, "And of Kite?", "What is the budget of Kite?"},
		{heron, "What about Kite?", "What is the budget of Kite?"},
		{heron, "When does it start?", "When does Heron start?"},
		{heron, "And who is its leader?", "Who is Heron's leader?"},
		{append(heron, u("And of Kite?"), a("12.")), "When does it end?", "When does Kite end?"},
		{leader, "When did she start?", "When did Ana Ruiz start?"},
		{leader, "What is her number?", "What is Ana Ruiz's number?"},
		{leader, "Did Tom write to her?", "Did Tom write to Ana Ruiz?"},
		{leader, "When does it end?", "When does Heron end?"},
		{[]Turn{u("Did Tom Okafor sell to Kite?"), a("Yes.")}, "And to Wren?", "Did Tom Okafor sell to Wren?"},
		{heron, "What are the names of its members?", "What are the names of Heron's members?"},
		{leader, "When did she bring her dog to the office?", "When did Ana Ruiz bring her dog to the office?"},
		{leader, "What does she do in IT?", "What does Ana Ruiz do in IT?"},
		{leader, "Where did Tom Okafor leave his car?", "Where did Tom Okafor leave his car?"},
		{heron, "How far is it from Leeds to York?", "How far is it from Leeds to York?"},
		// Uncertain.
		{two, "What are the names of his dogs?", ""},
		{heron, "Why?", ""},
		{heron, "What is the plan?", ""},
		{heron, "And the office?", ""},
		{heron, "Is that much?", ""},
		{heron, "Give me more details", ""},
		{heron, "Please explain.", ""},
		{heron, "Continue", ""},
		{heron, "Kite?", ""}, // like "Really?"
		{heron, "Really?", ""},
		{heron, "Thanks!", ""},
		{heron, "What else?", ""},
		{heron, "Can you tell me more?", ""},
		{heron, "Translate to German", ""},
		{heron, "Who is responsible?", ""},
		{heron, "What are the risks?", ""},
		{heron, "And of Kite in May?", ""},
		{two, "When did he write?", ""},
		{two, "And Maria Fox?", ""},
		{[]Turn{u("Who leads Heron?"), a("Ana Ruiz and Tom Okafor.")}, "When did she start?", ""},
		{[]Turn{u("What is the budget of Heron?"), a("Ana Ruiz knows.")}, "When did she start?", ""},
		{[]Turn{u("Why?")}, "When does it start?", ""},
		{append(heron, u("Why?"), a("It is.")), "When does it start?", ""},
		{[]Turn{a("Hello. I know Heron.")}, "When does it start?", ""},
	} {
		q := Question{Text: tc.text, Earlier: tc.earlier}
		got, sure := q.understand()
		switch {
		case sure != (tc.want != ""):
			t.Errorf("%q: %q, sure: %v", tc.text, got.Text, sure)
		case !sure && (got.Text != tc.text || got.asked != "" || len(got.Earlier) != len(tc.earlier)):
			t.Errorf("%q is uncertain, but changed: %+v", tc.text, got)
		case sure && (got.Text != tc.want || got.Earlier != nil || (got.asked == "") != (tc.text == tc.want)):
			t.Errorf("%q: %+v, want %q", tc.text, got, tc.want)
		}
	}
	if _, sure := (Question{Text: "Who is Ana Ruiz?", FollowsUp: true}).understand(); sure {
		t.Error("the client says that it follows up")
	}
}

// Whatever the turns say, a question that is understood is text, and alone.
func FuzzUnderstand(f *testing.F) {
	f.Add("What is the budget of Heron?", "Ana Ruiz.", "And élan's, its?")
	f.Add("Who leads Heron?", "", "and  ünd her?")
	f.Add("", " ", "So ...")
	f.Add("Her?", "IT.", "İt her of")
	f.Fuzz(func(t *testing.T, asked, answered, text string) {
		q := Question{Text: text, Earlier: []Turn{{RoleUser, asked}, {RoleAssistant, answered}}}
		got, sure := q.understand()
		if utf8.ValidString(asked) && utf8.ValidString(answered) && utf8.ValidString(text) && !utf8.ValidString(got.Text) {
			t.Errorf("%q", got.Text)
		}
		if sure != (got.Earlier == nil) || !sure && got.Text != text {
			t.Errorf("sure %v: %+v", sure, got)
		}
	})
}
