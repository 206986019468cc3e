package wording

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Each line is a reading that the rules give: a wording that passes, and one
// that does not.
func TestCompare(t *testing.T) {
	for _, tt := range []struct{ question, same, other string }{
		{"Did Ana call Bo?", "Was Bo called by Ana?", "Was Ana called by Bo?"},
		{"Who called Bo?", "By whom was Bo called?", "Who did Bo call?"},
		{"Which parts did the garage replace?", "Which parts were replaced by the garage?", "Which garage replaced the parts?"},
		{"What did Samir send to Petra?", "What was sent to Petra by Samir?", "What was sent to Samir by Petra?"},
		{"Which gate does it leave from?", "From which gate does it leave?", "Which gate does it leave?"},
		{"What is the code for the gate?", "What's the gate code?", "What is the gate for the code?"},
		{"Who is the sister of Ana's husband?", "Who is Ana's husband's sister?", "Who is the husband of Ana's sister?"},
		{"What is the latest version of the plan?", "What is the latest plan version?", "What is the version of the latest plan?"},
		{"How do I turn the heating off?", "How can I switch off the heating?", "How do I turn the heating on?"},
		{"How much does the ticket cost?", "What is the price of the ticket?", "How much does the ticket weigh?"},
		{"How much did we pay for the sofa?", "What did the sofa cost?", "How much do we pay for the sofa?"},
		{"How heavy is the parcel?", "What is the parcel's weight?", "How big is the parcel?"},
		{"What colour is the door?", "What is the colour of the door?", "What is the door of the colour?"},
		{"When is the tax return due?", "What is the deadline for the tax return?", "When was the tax return due?"},
		{"Who wrote the report?", "Who is the author of the report?", "Who writes the report?"},
		{"Why was the match cancelled?", "For what reason was the match called off?", "Why was the match not cancelled?"},
		{"Who is on duty on 5 January?", "Who's on duty on Jan 5th?", "Who is on duty on 5 June?"},
		{"What costs $1,185?", "What costs 1185 dollars?", "What costs €1,185?"},
		{"What costs twenty-one dollars?", "What costs $21?", "What costs $20.1?"},
		{"What is due in Q1?", "What is due in the first quarter?", "What is due in the quarter?"},
		{"Where do we meet at 4 pm?", "Where do we meet at 16:00?", "Where do we meet at 4 am?"},
		{"What changed in v2?", "What changed in version 2?", "What changed in v3?"},
		{"Can I bring a dog?", "Am I allowed to bring a dog?", "Must I bring a dog?"},
		{"Is it possible to bring a dog?", "May I bring a dog?", "Is it possible to bring no dog?"},
		{"Please tell me where the key is, thanks.", "Where is the key?", "Tell me who has the key."},
		{"wifi password?", "What is our wi-fi password?", "wifi?"},
		{"Who leads the Heron project?", "Who is in charge of Heron?", "Who leads the Curlew project?"},
		{"what did gerda bring?", "What did Gerda bring?", "what did wynne bring?"},
		{"Who is the man who sold the car?", "Who's the man who sold the car?", "Who is the man who sells the car?"},
		{"What did Ana tell the man who sold the car?", "What has Ana told the man who sold the car?", "What did Ana tell the man who sells the car?"},
		{"Where can I park at the hall?", "Where do I park at the hall?", "Where is the park at the hall?"},
		{"Who waits at the gate in the yard?", "Who is waiting at the gate in the yard?", "Who waits in the gate at the yard?"},
		{"Who waits at the gate?", "Who is waiting at the gate?", "Who waits for the gate?"},
		{"What is in the box?", "What's in the box?", "What is the box?"},
		{"Are 2 adults and 3 children coming?", "Are two adults and three children coming?", "Are 3 adults and 2 children coming?"},
		{"Wann kommt Ana?", "wann kommt ana", "Kommt Ana wann?"},
		{"アナはいつ来ますか", "アナはいつ来ますか？", "アナはいつ来ましたか"},
	} {
		if d := Compare(tt.question, tt.same); len(d) != 0 {
			t.Errorf("%q and %q differ: %v", tt.question, tt.same, d)
		}
		if d := Compare(tt.question, tt.other); len(d) == 0 {
			t.Errorf("%q and %q do not differ", tt.question, tt.other)
		}
	}
}

// Nothing can be said of questions that say nothing, or too much.
func TestNothingToCompare(t *testing.T) {
	long := strings.Repeat("Who called Ana? ", 100)
	for _, q := range []string{"", "?", "Why?", "What is it?", "Who is she?", long} {
		if d := Compare(q, q); len(d) == 0 {
			t.Errorf("%.20q passes", q)
		}
	}
}

// Two names that change places are another question, in whatever frame.
func TestNamesChangePlaces(t *testing.T) {
	frames := []string{
		"Did %a call %b?", "Why did %a thank %b?", "What did %a give to %b?", "What does %a owe %b?", "When was %a told by %b?",
		"Is %a taller than %b?", "How long is the ride from %a to %b?", "Who introduced %a to %b?", "What did %a buy from %b for Cato?",
		"Does %a report to %b?", "Was %a hired before %b?", "What did %a say about %b?", "Has %a written to %b?", "Tell me if %a likes %b.",
		"What is %a's letter to %b about?", "Which mail did %a forward to %b?", "Who is %a's lawyer against %b?", "Will %a drive %b home?",
	}
	swap := strings.NewReplacer("%a", "%b", "%b", "%a")
	for _, names := range [][2]string{{"Ana", "Bo"}, {"ana", "bo"}, {"the tenant", "the landlord"}, {"the red cat", "the dog"}, {"Leeds", "York"}} {
		fill := strings.NewReplacer("%a", names[0], "%b", names[1])
		for _, f := range frames {
			q, other := fill.Replace(f), fill.Replace(swap.Replace(f))
			if len(Compare(q, other)) == 0 {
				t.Errorf("%q and %q do not differ", q, other)
			}
			if d := Compare(q, strings.ToLower(q)); len(d) != 0 {
				t.Errorf("%q differs from itself in small letters: %v", q, d)
			}
		}
	}
}

// A word that is put in or left out is a difference, unless it says nothing.
func TestWordsCount(t *testing.T) {
	const q = "What did Ana order for the office party on Friday?"
	fields := strings.Fields(strings.TrimSuffix(q, "?"))
	for i, w := range fields {
		without := strings.Join(append(append([]string{}, fields[:i]...), fields[i+1:]...), " ")
		free := w == "the" || w == "on"
		if got := len(Compare(q, without)) == 0; got != free {
			t.Errorf("without %q: passes %v", w, got)
		}
	}
	for _, w := range strings.Fields("not never only also first second all any new old big 3 Bo no without almost tomorrow") {
		for i := 1; i < len(fields); i++ {
			with := strings.Join(append(append(append([]string{}, fields[:i]...), w), fields[i:]...), " ")
			if len(Compare(q, with)) == 0 {
				t.Errorf("%q passes", with)
			}
		}
	}
}

// No text makes Compare panic; it is all one which comes first, and a text
// does not differ from itself but in having nothing to compare.
func FuzzCompare(f *testing.F) {
	for _, s := range [][2]string{
		{"Did Ana call Bo?", "Was Bo called by Ana?"},
		{"What is the date of", "who is the author"},
		{"how much do we pay for", "what what which of of the the"},
		{"from to by with", "-5.5 $ % 12:30 pm 5 january 2025 o'clock"},
		{"twenty-one hundred and five million", "q1 v2 3b 2nd 10kg"},
		{"is it possible to", "please could you tell me"},
		{"\xff\x00'''s's", "’s n't 'll"},
		{"have you got to have got", "is going to be had been done by whom"},
	} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if x, y := Compare(a, b), Compare(b, a); (len(x) == 0) != (len(y) == 0) {
			t.Errorf("%q and %q: %v one way, %v the other", a, b, x, y)
		}
		for _, d := range Compare(a, a) {
			if d.Kind != Topic {
				t.Errorf("%q differs from itself: %v", a, d)
			}
		}
	})
}

func TestKinds(t *testing.T) {
	seen := map[Kind]bool{}
	for _, k := range Kinds() {
		if k == "" || seen[k] {
			t.Errorf("kind %q twice, or without a name", k)
		}
		seen[k] = true
	}
	if d := cmp.Diff(10, len(seen)); d != "" {
		t.Error(d)
	}
}

func BenchmarkCompare(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Compare("What is the code for the gate at Wharf Road?", "Could you tell me the Wharf Road gate code?")
	}
}
