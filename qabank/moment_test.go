package qabank_test

import (
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/percached/percached/qabank"
)

func TestRelativeTime(t *testing.T) {
	for _, q := range []string{
		"What is on today?", "Who comes tomorrow?", "What did Ana write yesterday?", "What is on tonight?", "Where is the party now?",
		"What is the latest version?", "What was the last mail from Ana?", "When is the next meeting?", "What did we do this week?",
		"Who is away this Monday?", "What is due soon?", "Is Ana still ill?", "Has Bo paid yet?", "What is due in two days?", "What happened two weeks ago?",
		"What is so far decided?", "Which events are upcoming?", "Who is on duty on Monday?", "What is planned for the weekend?", "Who called this morning?",
		"How many days until the exam?", "Which invoices are overdue?", "What are the most recent offers?", "What is the current rent?", "What is coming up?",
		"What's due within a month?", "TODAY?", "What is due <today>?",
	} {
		if !qabank.RelativeTime(q) {
			t.Errorf("%q has a relative time", q)
		}
	}
	for _, q := range []string{
		"When is the party?", "Who comes on 5 January?", "What is Ana's last name?", "Who is my next of kin?", "Who lives next to Ana?",
		"Who is on duty on Monday 5 January?", "What is at half past ten?", "Who was born in 1999?", "How long is the cable?", "What is this?",
		"What did Ana write in March?", "Who is on duty on Mon 5 May?",
	} {
		if qabank.RelativeTime(q) {
			t.Errorf("%q has no relative time", q)
		}
	}
}

func TestFollowUp(t *testing.T) {
	for _, q := range []string{
		"and him?", "what about the second one?", "Why?", "how much was it?", "when did she say that?", "And Ana?", "Which one?", "Is that true?",
		"Where is it?", "Who is he?", "What about Ana?", "the second one", "How much?", "Who else?", "Did Ana call him?", "Are you sure?", "",
		"What did they decide?", "Is this right?", "When exactly?", "or on Monday?", "What happened then?", "What is their address?", "the latter?", "Who was there?", "> And what about Ana?",
	} {
		if !qabank.FollowUp(q) {
			t.Errorf("%q leans on what was said before", q)
		}
	}
	for _, q := range []string{
		"When is the party?", "What did Ana say when she called?", "Is it possible to park at the hall?", "What is the budget for Heron?",
		"Who has the second key?", "How far is it from Leeds to York?", "What did Samir say about his budget?", "What do I do this week?",
		"wifi password?", "What did the teacher tell Otis about his homework?", "Who wrote the report that Ana liked?", "Is there a lift in the building?",
	} {
		if qabank.FollowUp(q) {
			t.Errorf("%q stands alone", q)
		}
	}
}

func TestMidnightAfter(t *testing.T) {
	for _, tt := range []struct{ zone, at, want string }{
		{"UTC", "2025-06-02T09:00:00Z", "2025-06-03T00:00:00Z"},
		{"UTC", "2025-06-02T00:00:00Z", "2025-06-03T00:00:00Z"},
		{"UTC", "2024-12-31T23:59:59Z", "2025-01-01T00:00:00Z"},
		{"Europe/Vienna", "2025-03-30T00:30:00+01:00", "2025-03-31T00:00:00+02:00"},       // a day of 23 hours
		{"Europe/Vienna", "2025-10-26T00:30:00+02:00", "2025-10-27T00:00:00+01:00"},       // a day of 25 hours
		{"America/Santiago", "2024-09-07T12:00:00-04:00", "2024-09-08T01:00:00-03:00"},    // no midnight at all
		{"Asia/Beirut", "2022-03-26T20:00:00+02:00", "2022-03-27T01:00:00+03:00"},         // nor here
		{"America/Havana", "2024-11-02T12:00:00-04:00", "2024-11-03T00:00:00-04:00"},      // midnight comes twice
		{"America/Havana", "2024-11-03T00:30:00-04:00", "2024-11-04T00:00:00-05:00"},      // between the two
		{"Pacific/Apia", "2011-12-29T12:00:00-10:00", "2011-12-31T00:00:00+14:00"},        // a day that never was
		{"Australia/Lord_Howe", "2024-10-05T12:00:00+10:30", "2024-10-06T00:00:00+10:30"}, // half an hour of summer
	} {
		zone, err := time.LoadLocation(tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		at, err := time.Parse(time.RFC3339, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := qabank.MidnightAfter(at.In(zone)).Format(time.RFC3339); got != tt.want {
			t.Errorf("%s after %s: %s, want %s", tt.zone, tt.at, got, tt.want)
		}
	}
}
