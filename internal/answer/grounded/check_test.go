package grounded

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func passages() []Passage {
	return []Passage{
		{"Heron kick-off (mail from Beatrix Nolde, Tue 4 February 2025)", "Heron is approved and Tamsin leads it. The budget is $46,000 with your travel. The first gauge goes into the water on 20 May in Port Ellery. Quentin pays 12.50 an hour for three students."},
		{"2024-07-15 Walk (note)", "Ana: I bought two tickets for the opera in Zürich.\nBen: Nice! I went hiking with Lior and we saw an eagle near the old mill."},
		{"Gate (note)", "The code for the south gate is 4711. It opens at 7:30. Call 0171-555-0123 if it sticks."},
	}
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		question, answer string
		want             bool
	}{
		// Numbers, in their forms.
		{"What is the budget for Heron?", "$46,000", true},
		{"What is the budget for Heron?", "The budget for Heron is 46000 dollars.", true},
		{"What is the budget for Heron?", "46k", true},
		{"What is the budget for Heron?", "$64,000", false},
		{"How much does Quentin pay?", "12.5 an hour", true},
		{"How many tickets did Ana buy?", "Two.", true},
		{"How many tickets did Ana buy?", "2 tickets", true},
		{"How many tickets did Ana buy?", "She bought five tickets.", false},
		{"How many students are there?", "There are 3 students.", true},
		{"What is the code for the south gate?", "The code is 4711.", true},
		{"When does the gate open?", "At 7.30", true},
		{"When does the gate open?", "At 7:45.", false},
		{"Whom do I call if the gate sticks?", "0171 555 0123", true},
		{"Whom do I call if the gate sticks?", "0171 555 0124", false},
		// Dates, in their orders.
		{"When does the gauge go into the water?", "On May 20.", true},
		{"When does the gauge go into the water?", "20th of May 2025", true},
		{"When does the gauge go into the water?", "2025-05-20", true},
		{"When does the gauge go into the water?", "On 4 May.", false},
		{"When does the gauge go into the water?", "In June.", false},
		{"When did Ana buy the tickets?", "July 15, 2024", true},
		{"When was Heron approved?", "On Tuesday, February 4", true},
		{"When was Heron approved?", "On Wednesday.", false},
		// Names.
		{"Who leads Heron?", "Tamsin leads it.", true},
		{"Who leads Heron?", "Heron is led by Margit Ayre.", false},
		{"Who leads Heron?", "tamsin", true},
		{"Where is the opera?", "In Zurich.", true},
		{"Where is the opera?", "It is in Vienna.", false},
		{"Who went with Ben?", "Ben's friend Lior.", true},
		// Other words, in their forms.
		{"What did Ben see?", "An eagle near the mill.", true},
		{"What did Ben see?", "He saw eagles.", true},
		{"What did Ben do with Lior?", "They hiked.", true},
		{"What did Ben see?", "A beautiful lake.", false},
		{"What did Ben see?", "A beautiful lake with an eagle, snow and deer.", false},
		// What the question gives shows nothing.
		{"What did Ana buy for the opera?", "Ana did buy it for the opera.", false},
		{"What did Ben see?", "They saw it.", false},
		{"What did Ben see?", "", false},
		{"Is the gate north or south?", "South.", true},
		// Of a time or a number that is asked for there must be one.
		{"When did Ben see an eagle?", "Ben saw an eagle near the old mill.", false},
		{"How many eagles did Ben see?", "Ben saw an eagle hiking near the mill.", true},
		// What stands far from what is asked about is about something else.
		{"What is the code for the south gate?", "Tamsin", false},
	} {
		if v := Check(tt.question, tt.answer, passages()); v.Grounded != tt.want {
			t.Errorf("%q: %q: %+v", tt.question, tt.answer, v)
		}
	}
}

// Spans are characters, not bytes.
func TestSpans(t *testing.T) {
	p := passages()
	v := Check("Where did Ana go with two tickets in July?", "To the opera in Zurich on July 15th with Max.", p)
	if v.Grounded {
		t.Error("Max is in no passage")
	}
	got := map[string]string{}
	for _, s := range v.Spans {
		text := p[s.Passage].Quote
		if s.About {
			text = p[s.Passage].About
		}
		got[s.Word] = string([]rune(text)[s.Start:s.End])
	}
	if d := cmp.Diff(map[string]string{"opera": "opera", "Zurich": "Zürich", "15": "15"}, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"Max"}, v.Missing); d != "" {
		t.Error(d)
	}
}

func TestBest(t *testing.T) {
	for _, tt := range []struct {
		question, text string
		marks          []string
	}{
		{"When does the first gauge go into the water?", "The first gauge goes into the water on 20 May in Port Ellery. Quentin pays 12.50 an hour for three students.", []string{"20 May", "12.50", "three"}},
		{"Who saw an eagle with Ben?", "I went hiking with Lior and we saw an eagle near the old mill.", []string{"Lior"}},
		{"What is the code for the south gate?", "The code for the south gate is 4711. It opens at 7:30.", []string{"4711", "7:30"}},
	} {
		e, ok := Best(tt.question, passages())
		var marks []string
		for _, m := range e.Marks {
			marks = append(marks, string([]rune(e.Text)[m.Start:m.End]))
		}
		if !ok || e.Text != tt.text || !cmp.Equal(marks, tt.marks) {
			t.Errorf("%q: %q %q", tt.question, e.Text, marks)
		}
	}
	if e, ok := Best("Who?", nil); ok {
		t.Error(e)
	}
	if e, ok := Best("Who?", []Passage{{"Empty", " ... "}}); ok {
		t.Error(e)
	}
}

func FuzzCheck(f *testing.F) {
	f.Add("When?", "On 5 March 2001, 1,200.50 at 7:30.", "5/3/2001 … \xff 7.30 東京 é")
	f.Fuzz(func(t *testing.T, question, answer, quote string) {
		p := []Passage{{answer, quote}, {"", answer}}
		for _, s := range Check(question, answer, p).Spans {
			text := p[s.Passage].Quote
			if s.About {
				text = p[s.Passage].About
			}
			if n := len([]rune(text)); s.Start < 0 || s.Start >= s.End || s.End > n {
				t.Fatal(s, n)
			}
		}
		e, ok := Best(question, p)
		n := len([]rune(e.Text))
		for _, m := range e.Marks {
			if !ok || m.Start < 0 || m.Start >= m.End || m.End > n {
				t.Fatal(m, n)
			}
		}
	})
}
