package persona

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Span is a range of whole numbers with both ends.
type Span struct{ Least, Most int }

// Move is a change of a setting at an hour of a day, counted from 0.
type Move struct {
	Day, Hour int
	To        float64
}

// Profile is a kind of user. Profiles has examples.
type Profile struct {
	Name  string
	About string // in one sentence
	Space string // kind of the space: emails or meetings
	Days  int

	Archive   int  // documents at the start
	Documents Span // of a day with documents
	Every     int  // days between days with documents
	Words     Span // approximate length of a document
	Telling   float64
	Facts     Span    // in a document with facts; Telling is the share of these documents
	Meetings  float64 // share of documents that are minutes of a meeting
	Notes     float64 // share of documents that are notes, which the user may change
	Deletions int     // of documents in the month
	Revisions int     // of notes in the month

	Questions Span // of a day with questions
	AskEvery  int  // days between days with questions
	Recent    float64
	// Shares of the questions. The rest is new; Recent is the share of new questions about
	// documents of the last two days.
	Repeats, Paraphrases, Near, Foreign float64
	// Oddly: all questions are odd, about letters of the archive that prediction does not use.
	Oddly bool

	Room       int64  // limit of tensors at the start, in bytes
	Limits     []Move // limits of tensors, as shares of Room
	Thresholds []Move
	Report     time.Duration // time between two reports of the phone
}

// Profiles returns the known profiles, the most typical first.
func Profiles() []Profile {
	typical := Profile{
		Name: "typical", About: "ten mails a day, three to eight questions, charging at night", Space: "emails", Days: 30,
		Archive: 40, Documents: Span{8, 12}, Every: 1, Words: Span{60, 250}, Telling: 0.6, Facts: Span{1, 2},
		Meetings: 0.1, Notes: 0.15, Deletions: 12, Revisions: 15,
		Questions: Span{3, 8}, AskEvery: 1, Recent: 0.75, Repeats: 0.15, Paraphrases: 0.15, Near: 0.05, Foreign: 0.08,
		Room: 2 << 20, Limits: []Move{{0, 0, 1}, {9, 12, 0.25}, {20, 12, 2}},
		Thresholds: []Move{{0, 0, 0.85}, {11, 18, 0.9}, {17, 18, 0.85}}, Report: 5 * time.Minute,
	}
	sparse := typical
	sparse.Name, sparse.About = "sparse", "a question every second day, two to four mails a day"
	sparse.Documents, sparse.Archive, sparse.Deletions, sparse.Revisions = Span{2, 4}, 20, 3, 4
	sparse.Questions, sparse.AskEvery, sparse.Near, sparse.Foreign = Span{1, 1}, 2, 0, 0
	meetings := typical
	meetings.Name, meetings.About, meetings.Space = "meetings", "long minutes every second day, and questions about each for a while", "meetings"
	meetings.Archive, meetings.Documents, meetings.Every, meetings.Words = 2, Span{1, 1}, 2, Span{900, 1800}
	meetings.Telling, meetings.Facts, meetings.Meetings, meetings.Notes = 1, Span{8, 16}, 1, 0
	meetings.Deletions, meetings.Revisions, meetings.Questions = 1, 0, Span{2, 5}
	busy := typical
	busy.Name, busy.About = "busy", "thirty questions a day, many of them again and again"
	busy.Questions, busy.Documents = Span{26, 34}, Span{12, 18}
	busy.Repeats, busy.Paraphrases, busy.Near = 0.2, 0.2, 0.1
	unpredictable := typical
	unpredictable.Name, unpredictable.About = "unpredictable", "mail keeps coming, but asks only odd things about old letters, never twice"
	unpredictable.Questions, unpredictable.Oddly = Span{1, 3}, true
	unpredictable.Repeats, unpredictable.Paraphrases, unpredictable.Near, unpredictable.Foreign = 0, 0, 0, 0
	unpredictable.Thresholds = []Move{{0, 0, 0.85}}
	return []Profile{typical, sparse, meetings, busy, unpredictable}
}

// Find returns the profile with a name.
func Find(name string) (Profile, bool) {
	for _, p := range Profiles() {
		if p.Name == name {
			return p, true
		}
	}
	return Profile{}, false
}

// Validate joins all errors of the profile.
func (p Profile) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(p.Days < 1 || p.Days > 366, "days: %d is not between 1 and 366", p.Days)
	bad(p.Archive < 0 || p.Deletions < 0 || p.Revisions < 0, "archive, deletions and revisions cannot be negative")
	bad(p.Every < 1 || p.AskEvery < 1, "every and ask_every: %d and %d are not positive", p.Every, p.AskEvery)
	for _, s := range []struct {
		name  string
		span  Span
		least int
	}{{"documents", p.Documents, 0}, {"words", p.Words, 60}, {"facts", p.Facts, 1}, {"questions", p.Questions, 0}} {
		bad(s.span.Least < s.least || s.span.Most < s.span.Least || s.span.Most > 4000, "%s: %d to %d is not a range with a minimum of %d", s.name, s.span.Least, s.span.Most, s.least)
	}
	bad(p.Words.Most < 40+30*p.Facts.Most, "words: %d is too few for %d facts", p.Words.Most, p.Facts.Most)
	for _, s := range []struct {
		name  string
		share float64
	}{
		{"telling", p.Telling},
		{"recent", p.Recent},
		{"meetings and notes", p.Meetings + p.Notes},
		{"repeats, paraphrases, near and foreign", p.Repeats + p.Paraphrases + p.Near + p.Foreign},
	} {
		bad(!(s.share >= 0 && s.share <= 1), "%s: %v is not between 0 and 1", s.name, s.share)
	}
	for _, x := range slices.Concat(p.Limits, p.Thresholds) {
		bad(x.Day < 0 || x.Hour < 0 || x.Hour > 23 || !(x.To >= 0), "limits and thresholds: %+v is invalid", x)
	}
	bad(p.Room < 0, "room: %d is negative", p.Room)
	bad(p.Report <= 0, "report: %v is not positive", p.Report)
	bad(p.Oddly && p.Archive < 2, "oddly needs at least two letters in the archive")
	return errors.Join(errs...)
}
