package measure_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached/eval/measure"
)

func TestFacts(t *testing.T) {
	same := []string(nil)
	only := func(kinds ...string) []string { return kinds }
	for _, tc := range []struct {
		served, computed string
		want             []string
	}{
		// Other words with the same facts.
		{"$46,000", "$46,000", same},
		{"$46,000", "The budget is $46,000.", same},
		{"It costs 46,000 dollars", "The budget is $46,000.", same},
		{"$46k", "46 thousand dollars", same},
		{"$1.2 million", "1,200,000", same},
		{"twelve", "12", same},
		{"forty-six thousand", "46,000", same},
		{"two hundred and five people", "205 people", same},
		{"a dozen eggs", "12 eggs", same},
		{"5 %", "five per cent", same},
		{"5 percent", "5%", same},
		{"it is 5km away", "5 km away", same},
		{"-5 degrees", "it was -5 degrees", same},
		{"Friday", "On Friday.", same},
		{"28 February", "Friday, February 28th", same},
		{"the 28th of Feb", "2001-02-28", same},
		{"2/28/2001", "28 February 2001", same},
		{"28.2.2001", "February 28, 2001", same},
		{"3/4/2001", "3 April 2001", same}, // may be either
		{"3.4.2001", "3 April 2001", same},
		{"12 am", "midnight", same},
		{"rooms two five", "rooms 2, 5", same},
		{"It carries", "They carry", same},
		{"snow blocked roads everywhere", "roads blocked everywhere, heavily", same},
		{"3/4/2001", "March 4, 2001", same},
		{"on the 28th", "28 February", same},
		{"in 1999", "It was March 1999 when the hut was built", same},
		{"3 pm", "at 15:00", same},
		{"3:30pm", "15:30", same},
		{"3 p.m. on Friday", "Friday at 3pm", same},
		{"3 o'clock", "15:00", same},
		{"noon", "12:00", same},
		{"Maren", "maren", same},
		{"Maren", "Maren Holm", same},
		{"Mr. Holm", "Maren Holm", same},
		{"P. Allister", "Pia Allister", same},
		{"Maren's tent", "the tent of Maren", same},
		{"Maren and Cato", "Cato and Maren", same},
		{"She brings the tent", "Maren brings the tent", same},
		{"Lunch is at 12", "at 12", same},
		{"The Budget is final", "the budget is final", same},
		{"Sending it tomorrow", "She sends it tomorrow", same},
		{"maren@example.org", "Write to maren@example.org.", same},
		{"room CL-204", "It is in CL-204", same},
		{"No, it is not open", "It isn't open", same},
		{"no later than Friday", "by Friday", same},
		{"not only Maren", "Maren", same},
		{"No. 5", "number 5", same},
		{"the hut has only an open fire", "There is an open fire in the hut", same},
		{"One of them is Maren", "Maren", same},
		{"first Maren", "Maren", same},
		{"Yes", "yes!", same},
		{"I don't know.", "The documents do not say when Maren leaves.", same},
		{"", "I don't know", same},
		{"At 9", "9 am", same},
		{"12 noon", "noon", same},
		{"Monday, 3/12", "March 12", same},
		{"on Wed.", "on Wednesday", same},
		{"$0.05", "5 cents", same},
		{"2,000 people", "2000 people", same},
		{"1.5 million", "1.5M", same},
		{"U.S.", "the US", same},
		{"Dr. Holm", "Doctor Holm", same},
		{"No problem, Friday works", "Friday works", same},
		{"yes, it is", "It is", same},
		{"To review the draft by Tuesday", "Tuesday", same},
		{"He asked Tilda to send it", "Tilda was asked to send it", same},
		{"it starts at midday", "it starts at noon", same},
		{"IT IS ON FRIDAY", "on Friday", same},
		{"They march on Friday", "Friday", same},
		{"It may be late", "It could be late", same},

		// Different facts.
		{"$46,000", "$28,000", only("number")},
		{"$46", "€46", only("number")},
		{"5 %", "$5", only("number")},
		{"46 thousand", "46 million", only("number")},
		{"room 1.12", "room 1.13", only("number")},
		{"twelve people", "twenty people", only("number")},
		{"-5 degrees", "5 degrees", only("number")},
		{"one tent", "two tents", only("number")},
		{"the first floor", "the second floor", only("number")},
		{"46,000", "46,000 of 90,000", only("number")},
		{"Friday", "Thursday", only("date")},
		{"28 February", "27 February", only("date")},
		{"28 February", "28 March", only("date")},
		{"3 May 2000", "3 May 2001", only("date")},
		{"in 1999", "in 2000", only("date")},
		{"Friday", "28 February", only("date")}, // nothing says that this is a Friday
		{"3.4.2001", "March 4, 2001", only("date")},
		{"3 pm", "3 am", only("date")},
		{"15:00", "15:30", only("date")},
		{"noon", "midnight", only("date")},
		{"At 9", "At 10", only("date")},
		{"9 people", "9 am", only("number", "date")},
		{"today", "tomorrow", only("date")},
		{"May", "March", only("date")},
		{"Friday", "Friday at 3 pm", only("date")}, // one says more
		{"Maren", "Cato", only("name")},
		{"Maren takes it", "Cato takes it", only("name")},
		{"It is with Maren", "It is with Cato", only("name")},
		{"Maren Holm", "Tilda Holm", only("name")},
		{"Maren, Cato", "Maren", only("name")},
		{"Grad A has a cold", "Grad B has a cold", only("name")},
		{"Maren, Cato and Tilda", "Maren and Cato", only("name")},
		{"Grad A said so", "Grad B said so", only("name")},
		{"Lunch is at 12", "Dinner is at 12", only("name")},
		{"the UK office", "the US office", only("name")},
		{"room B12", "room B13", only("name")},
		{"CL-204", "CL-205", only("name")},
		{"maren@example.org", "maren@example.com", only("name")},
		{"in Oslo", "at the hut", only("name")},
		{"Yes", "No", only("negation")},
		{"It is open", "It is not open", only("negation")},
		{"He came", "He never came", only("negation")},
		{"with a tent", "without a tent", only("negation")},
		{"They can come", "They can't come", only("negation")},
		{"It is no longer open", "It is open", only("negation")},
		{"next Friday", "last Friday", only("opposite")},
		{"before Friday", "after Friday", only("opposite")},
		{"The plan was approved", "The plan was rejected", only("opposite")},
		{"He arrives at 3 pm", "He leaves at 3 pm", only("opposite")},
		{"I don't know.", "$46,000", only("refusal")},
		{"Maren", "The documents do not mention it.", only("refusal")},
		{"", "Maren", only("refusal")},
		{"the hut", "the lake", only("words")},
		{"a red tent", "a blue tent", only("words")},
		{"He carries a red tent", "He brings a blue tent", only("words")},
		{"The team decided to keep the display.", "The team decided to drop the display.", only("words")},
		{"Maren", "the hut", only("words")},
		{"Maren pays $5 on Friday", "Cato does not pay $6 on Monday", only("number", "date", "name", "negation")},
	} {
		t.Run(tc.served+"|"+tc.computed, func(t *testing.T) {
			if d := cmp.Diff(tc.want, measure.Differs(tc.served, tc.computed)); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(tc.want, measure.Differs(tc.computed, tc.served)); d != "" {
				t.Error("the other way round", d)
			}
			if got := measure.Contradicts(tc.served, tc.computed); got != (len(tc.want) > 0) {
				t.Errorf("contradicts: %v", got)
			}
		})
	}
}

// An answer never contradicts itself, and the order of two answers does not matter.
func FuzzFacts(f *testing.F) {
	f.Add("Maren, 28 February 2001 at 3 pm: $46,000 - no?", "the 28th of")
	f.Add("twenty-one hundred and", "May the 3rd 5 per")
	f.Add("-", "İ’s 1/2/03 99:99 \xff")
	f.Fuzz(func(t *testing.T, a, b string) {
		if kinds := measure.Differs("hut\n"+a, "the hut\n"+a); len(kinds) > 0 {
			t.Errorf("%q differs from itself: %v", a, kinds)
		}
		if ab, ba := measure.Differs(a, b), measure.Differs(b, a); !slices.Equal(ab, ba) {
			t.Errorf("%q, %q: %v, %v", a, b, ab, ba)
		}
	})
}
