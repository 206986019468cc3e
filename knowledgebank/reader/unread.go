package reader

import (
	"slices"
	"strings"
	"time"

	"github.com/percached/percached/knowledgebank"
)

// fieldsUsed are those that are read, or that say where an object comes from.
var fieldsUsed = map[string]bool{
	"title": true, "subject": true, "name": true, "source": true, "user": true, "speaker": true, "id": true, "path": true,
	"from": true, "sender": true, "author": true, "to": true, "cc": true, "date": true, "headers": true, "query": true,
	"speakername": true, "role": true, "timestamp": true, "time": true, "created": true, "created_at": true, "sent": true,
}

var textFields = []string{"text", "body", "content", "email"}

const (
	unreadWords  = 3  // a text of fewer is a label
	unreadLooked = 64 // texts of a document, at most: each is looked for in all of it
)

// unread names the fields whose text is in no block, in one note.
func (o object) unread(s *knowledgebank.Source) []string {
	var fields []string
	have, left := "", unreadLooked
	for _, k := range slices.Sorted(keysOf(o)) {
		if fieldsUsed[strings.ToLower(k)] || s.Format == "mail" && slices.Contains(textFields, strings.ToLower(k)) {
			continue // a mail goes without what it quotes
		}
		if have == "" {
			have = lettersIn(s)
		}
		if more(o[k], have, &left) {
			fields = append(fields, shorten(oneLine(k), 40))
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return []string{"not read: the text in " + shorten(strings.Join(fields, ", "), 160)}
}

// lettersIn is a document's text with all that layout may change taken out.
func lettersIn(s *knowledgebank.Source) string {
	var b strings.Builder
	for _, block := range s.Blocks {
		b.WriteString(onlyLetters(block.Text))
	}
	return b.String()
}

func onlyLetters(s string) string {
	return strings.Map(func(r rune) rune {
		if wordless(string(r)) {
			return -1
		}
		return r
	}, clean(s))
}

// more says that a value holds a text that have does not.
func more(v any, have string, left *int) bool {
	if *left--; *left < 0 {
		return false
	}
	switch v := v.(type) {
	case string:
		if strings.Count(strings.TrimSpace(v), " ")+1 < unreadWords || !date(v, time.UTC).IsZero() && len(v) < 40 {
			return false
		}
		return !strings.Contains(have, onlyLetters(v)) && !strings.Contains(have, onlyLetters(spoken(v)))
	case []any:
		return slices.ContainsFunc(v, func(v any) bool { return more(v, have, left) })
	case map[string]any:
		for _, k := range slices.Sorted(keysOf(v)) {
			if !fieldsUsed[strings.ToLower(k)] && more(v[k], have, left) {
				return true
			}
		}
	}
	return false
}
