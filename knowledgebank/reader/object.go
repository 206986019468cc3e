package reader

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached/knowledgebank"
)

// object is a JSON object, read by the names that people give to its fields.
type object map[string]any

// find gives the first field that is there, in any case of letters.
func (o object) find(names ...string) any {
	for _, name := range names {
		if v, ok := o[name]; ok && v != nil {
			return v
		}
	}
	for _, name := range names {
		first := ""
		for k, v := range o {
			if v != nil && strings.EqualFold(k, name) && (first == "" || k < first) {
				first = k
			}
		}
		if first != "" {
			return o[first]
		}
	}
	return nil
}

// text gives the first of the fields that holds words or a number.
func (o object) text(names ...string) string {
	for _, name := range names {
		switch v := o.find(name).(type) {
		case string:
			if strings.TrimSpace(v) != "" {
				return v
			}
		case json.Number:
			return v.String()
		}
	}
	return ""
}

// deep looks into the objects of an object too.
func (o object) deep(names ...string) string {
	if t := o.text(names...); t != "" {
		return t
	}
	for _, k := range slices.Sorted(keysOf(o)) {
		if in, ok := o[k].(map[string]any); ok {
			if t := object(in).text(names...); t != "" {
				return t
			}
		}
	}
	return ""
}

func keysOf(o object) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range o {
			if !yield(k) {
				return
			}
		}
	}
}

// id is what an object goes by; what is said in one meeting goes by the meeting.
func (o object) id() string {
	id := o.text("id", "path", "message_id", "message-id", "messageid")
	for _, name := range []string{"meetingid", "dialogid", "conversationid"} {
		id = or(id, o.deep(name))
	}
	return id
}

// jsonSource makes a document of an object: a mail, a talk, or a note.
func (f *file) jsonSource(ctx context.Context, o object) (*knowledgebank.Source, error) {
	s := &knowledgebank.Source{Source: "note", Format: "json", Title: oneLine(o.text("title", "subject", "name"))}
	s.Date = when(o.find("date", "created_at", "created", "timestamp", "time", "sent"), f.o.Location)
	text := o.text(textFields...)
	if mailStart(lineEnds(text), "") {
		m, err := f.parseMail(ctx, []byte(text), "")
		if err == nil && len(m.Blocks) > 0 {
			return m, nil
		}
	}
	from := clean(o.text("from", "sender", "author"))
	switch {
	case text == "":
		s.Format, s.Source = "transcript", "meeting"
		if o.find("messages") != nil {
			s.Source = "conversation"
		}
		s.Blocks = o.talk(ctx, 3)
		if id := o.deep("meetingid"); s.Title == "" && id != "" {
			s.Title = oneLine("Meeting " + id)
		}
	case from != "" && o.text("subject") != "":
		s.Format, s.Source = "mail", "mail from "+person(from)
		s.Blocks = own(ctx, written{text: clean(lineEnds(text))}, forwarding.MatchString(s.Title), s.Title)
	default:
		s.Blocks = blocksOf(ctx, strings.Split(clean(lineEnds(text)), "\n"), false)
		if source := oneLine(o.text("source")); source != "" {
			s.Source = source
		} else if user := or(from, o.text("user", "speaker")); user != "" {
			s.Source = "note from " + person(clean(user))
		}
	}
	if s.Title == "" {
		s.Title = titleOf(stem(f.base), f.base)
	}
	if len(s.Blocks) == 0 || allWordless(s.Blocks) {
		return nil, errEmpty
	}
	s.Notes = o.unread(s)
	return s, nil
}

// when reads a date: text, or seconds or milliseconds since 1970.
func when(v any, loc *time.Location) time.Time {
	switch v := v.(type) {
	case string:
		return date(v, loc)
	case json.Number:
		n, err := v.Float64()
		if err != nil || n < 1e8 {
			return time.Time{}
		}
		if n > 1e11 {
			n /= 1000
		}
		if n > 4e9 {
			return time.Time{}
		}
		return time.Unix(int64(n), 0).In(loc)
	}
	return time.Time{}
}
