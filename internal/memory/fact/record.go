package fact

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Record is one fact.
type Record struct {
	Who   string    // a person's name; empty: the user
	What  string    // the attribute: home, job, sister, or Note
	Value string    // in the words that were said
	Since time.Time // day from which it holds; zero: unknown
	Until time.Time // day until which it held; zero: it holds
	Said  time.Time // day on which it was said or entered
	Heard bool      // said in a question or conversation, not entered as a fact
}

// Note is the attribute of a fact that is stored in the user's own words.
const Note = "note"

// Bounds in characters.
const (
	maxName  = 60
	maxWhat  = 40
	maxValue = 200
	// MaxNote bounds the value of a note.
	MaxNote = 400
)

// phrase is how a sentence states an attribute. Without one, it is "The user's WHAT is VALUE".
type phrase struct{ what, now, past string }

var phrases = []phrase{
	{"home", "lives in", "lived in"},
	{"employer", "works at", "worked at"},
	{"job", "works as", "worked as"},
	{"origin", "comes from", "came from"},
	{"studies", "studies", "studied"},
	{"allergy", "is allergic to", "was allergic to"},
	{"likes", "likes", "liked"},
	{"dislikes", "dislikes", "disliked"},
	{"prefers", "prefers", "preferred"},
	{"language", "speaks", "spoke"},
	{Note, "said:", "said:"},
}

// several are the attributes that may have several values at a time.
var several = strings.Fields(Note + ` allergy likes dislikes prefers language studies
	friend brother sister son daughter child kid cousin aunt uncle niece nephew grandson granddaughter colleague
	roommate neighbour neighbor teammate dog cat pet`)

// Single says that a new value of the attribute replaces the old one.
func (r Record) Single() bool { return !slices.Contains(several, r.What) }

// Same says that two records have the same value of the same attribute of the same person.
func (r Record) Same(o Record) bool {
	return r.About(o) && strings.EqualFold(r.Value, o.Value)
}

// About says that two records have the same attribute of the same person.
func (r Record) About(o Record) bool { return strings.EqualFold(r.Who, o.Who) && r.What == o.What }

const titlePrefix = "Memory: "

// Title is the title of the record's document.
func (r Record) Title() string {
	if r.Who == "" {
		return titlePrefix + r.What
	}
	return titlePrefix + r.Who + ": " + r.What
}

// opening is what precedes the value in the sentence.
func (r Record) opening() string {
	who := r.Who
	if who == "" {
		who = "The user"
	}
	if i := slices.IndexFunc(phrases, func(p phrase) bool { return p.what == r.What }); i >= 0 {
		if r.Until.IsZero() {
			return who + " " + phrases[i].now + " "
		}
		return who + " " + phrases[i].past + " "
	}
	if r.Until.IsZero() {
		return who + "'s " + r.What + " is "
	}
	return who + "'s " + r.What + " was "
}

// Sentence states the fact.
func (r Record) Sentence() string { return r.opening() + r.Value + "." }

// Body is the text of the record's document: a sentence, then in parentheses since when, until
// when and how it became known.
func (r Record) Body() string {
	var parts []string
	if !r.Since.IsZero() {
		parts = append(parts, "since "+r.Since.Format(time.DateOnly))
	}
	if !r.Until.IsZero() {
		parts = append(parts, "until "+r.Until.Format(time.DateOnly))
	}
	how := "entered on "
	if r.Heard {
		how = "said in a conversation on "
	}
	parts = append(parts, how+r.Said.Format(time.DateOnly))
	return r.Sentence() + " (" + strings.Join(parts, "; ") + ")"
}

var tail = regexp.MustCompile(`^(.*)\. \((?:since (\d{4}-\d\d-\d\d); )?(?:until (\d{4}-\d\d-\d\d); )?(entered|said in a conversation) on (\d{4}-\d\d-\d\d)\)$`)

// Parse reads the record that Title and Body wrote.
func Parse(title, body string) (Record, error) {
	var r Record
	what, ok := strings.CutPrefix(title, titlePrefix)
	m := tail.FindStringSubmatch(body)
	if !ok || m == nil {
		return r, errors.New("the document is not a fact")
	}
	if i := strings.LastIndex(what, ": "); i >= 0 {
		r.Who, what = what[:i], what[i+2:]
	}
	r.What, r.Heard = what, m[4] != "entered"
	for i, day := range []*time.Time{2: &r.Since, 3: &r.Until, 5: &r.Said} {
		if day == nil || m[i] == "" {
			continue
		}
		var err error
		if *day, err = time.Parse(time.DateOnly, m[i]); err != nil {
			return Record{}, errors.New("the document is not a fact: a date is wrong")
		}
	}
	if r.Value, ok = strings.CutPrefix(m[1], r.opening()); !ok {
		return Record{}, errors.New("the document is not a fact: its text does not match its title")
	}
	return r, r.Check()
}

// Day is the day of a time, as records have it.
func Day(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

var noun = regexp.MustCompile(`^[\p{L}][\p{L}' -]*$`)

// Check says what is wrong with a record. Its error names the field and quotes no text.
func (r Record) Check() error {
	limit := maxValue
	if r.What == Note {
		limit = MaxNote
	}
	switch {
	case r.What == "" || utf8.RuneCountInString(r.What) > maxWhat || !noun.MatchString(r.What) || len(strings.Fields(r.What)) > 4:
		return &FieldError{"what", fmt.Sprintf("must be a noun of 1 to 4 words and at most %d letters, such as home or favourite colour", maxWhat)}
	case r.Who != "" && (utf8.RuneCountInString(r.Who) > maxName || !noun.MatchString(strings.ReplaceAll(r.Who, ".", ""))):
		return &FieldError{"who", fmt.Sprintf("must be a name of at most %d letters, or empty for the user", maxName)}
	case r.Value == "" || utf8.RuneCountInString(r.Value) > limit:
		return &FieldError{"value", fmt.Sprintf("must have 1 to %d characters", limit)}
	case r.Value != Tidy(r.Value) || r.Who != Tidy(r.Who) || r.What != Tidy(r.What):
		return &FieldError{"value", "must be one line of text without spaces or a full stop around it"}
	case !r.Since.IsZero() && r.Until.Before(r.Since) && !r.Until.IsZero():
		return &FieldError{"until", "must not be before since"}
	case Secret(r.Who+" "+r.What+" "+r.Value) != "":
		return &FieldError{"value", "looks like " + Secret(r.Who+" "+r.What+" "+r.Value) + "; percached stores no secrets as facts"}
	}
	return nil
}

// FieldError is what is wrong with a field of a record.
type FieldError struct{ Field, Detail string }

func (e *FieldError) Error() string { return e.Field + " " + e.Detail }

// Tidy makes one line without spaces and full stops around it.
func Tidy(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r) || r == utf8.RuneError || unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, " "))
	return strings.TrimSpace(strings.TrimRight(strings.Join(strings.Fields(s), " "), ".!;, "))
}
