package reader

import (
	"context"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/percached/percached/knowledgebank"
)

// talk returns the turns of the first list of messages in an object, or in the objects
// inside it.
func (o object) talk(ctx context.Context, depth int) []knowledgebank.Block {
	for _, name := range []string{"messages", "segments", "transcriptsegments", "meeting_transcripts", "turns", "utterances", "transcript", "dialogue"} {
		if list, ok := o.find(name).([]any); ok {
			if blocks := turnsOf(ctx, list); len(blocks) > 0 {
				return blocks
			}
		}
	}
	if depth == 0 {
		return nil
	}
	for _, k := range slices.Sorted(keysOf(o)) {
		if in, ok := o[k].(map[string]any); ok {
			if blocks := object(in).talk(ctx, depth-1); len(blocks) > 0 {
				return blocks
			}
		}
	}
	return nil
}

// turnsOf makes turns of messages: objects, possibly mixed with strings.
func turnsOf(ctx context.Context, list []any) []knowledgebank.Block {
	var out turnList
	objects := false
	for i, item := range list {
		if ended(ctx, i) {
			break
		}
		in, ok := item.(map[string]any)
		objects = objects || ok
		o := object(in)
		text, _ := item.(string)
		if text == "" {
			text = o.messageText("text", "content", "message", "utterance")
		}
		text = clean(lineEnds(text))
		if text = strings.Join(strings.Fields(spoken(text)), " "); wordless(text) {
			continue
		}
		b := knowledgebank.Block{Speaker: oneLine(o.speaker()), Text: text}
		if n, err := strconv.ParseFloat(o.text("start", "starttime", "start_time"), 64); err == nil && n >= 0 && n < 1e6 {
			b.At = clockOf(time.Duration(n * float64(time.Second)))
		}
		if n := len(out.turns); n > 0 && b.Speaker != "" && out.turns[n-1].Speaker == b.Speaker {
			out.goOn(text)
			continue
		}
		out.begin(b)
	}
	if !objects {
		return nil
	}
	return out.end()
}

// speaker is who said a message: a name, or an object with one.
func (o object) speaker() string {
	if name := o.text("speaker", "speakername", "from", "name", "user", "role", "author", "sender"); name != "" {
		return name
	}
	for _, field := range []string{"speaker", "author", "sender", "from", "user"} {
		if in, ok := o.find(field).(map[string]any); ok {
			if name := object(in).text("name", "displayname", "display_name", "real_name", "username", "nickname", "email", "role"); name != "" {
				return name
			}
		}
	}
	return ""
}

// messageText returns the first of the fields that holds words, or parts with words.
func (o object) messageText(names ...string) string {
	if text := o.text(names...); text != "" {
		return text
	}
	for _, name := range names {
		switch v := o.find(name).(type) {
		case map[string]any:
			if text := object(v).text("text", "content"); text != "" {
				return text
			}
		case []any:
			if text := parts(v); strings.TrimSpace(text) != "" {
				return text
			}
		}
	}
	return ""
}

// parts joins the parts of a message. Strings among objects include the spaces between
// them.
func parts(list []any) string {
	var out []string
	strs := 0
	for _, v := range list {
		switch v := v.(type) {
		case string:
			out = append(out, v)
			strs++
		case map[string]any:
			if text := object(v).text("text", "content"); text != "" {
				out = append(out, text)
			}
		}
	}
	if strs > 0 && strs < len(list) {
		return strings.Join(out, "")
	}
	return strings.Join(out, "\n")
}

var (
	noises = regexp.MustCompile(`\{ ?(?:vocalsound|nonvocalsound|disfmarker|pause|gap|comment|laugh|laughs|laughter|cough|breath|breathing|noise|click|sigh|music|silence|crosstalk|inaudible) ?\}`)
	apart  = regexp.MustCompile(` +([.,!?;:)]|'(?:s|re|ve|ll|m|d)\b|n't\b)`)
)

// spoken joins words and signs that a transcript separates ("OK , we 're on .") and
// drops the names of noises. A sign that begins a word stays: "use .NET".
func spoken(text string) string {
	if !strings.Contains(text, " .") && !strings.Contains(text, " ,") && !strings.Contains(text, " ?") && !strings.Contains(text, "{") {
		return text
	}
	text = noises.ReplaceAllString(text, "")
	var b strings.Builder
	from := 0
	for _, m := range apart.FindAllStringSubmatchIndex(text, -1) {
		next, _ := utf8.DecodeRuneInString(text[m[3]:])
		if m[3] < len(text) && text[m[2]] != '\'' && text[m[2]] != 'n' && (unicode.IsLetter(next) || unicode.IsDigit(next) || next == '/') {
			continue
		}
		b.WriteString(text[from:m[0]])
		from = m[2]
	}
	b.WriteString(text[from:])
	return b.String()
}

// fieldsUsed are the fields that are read, or that say where an object comes from.
var fieldsUsed = map[string]bool{
	"title": true, "subject": true, "name": true, "source": true, "user": true, "speaker": true, "id": true, "path": true,
	"from": true, "sender": true, "author": true, "to": true, "cc": true, "date": true, "headers": true, "query": true,
	"speakername": true, "role": true, "timestamp": true, "time": true, "created": true, "created_at": true, "sent": true,
}

var textFields = []string{"text", "body", "content", "email"}

const (
	unreadWords  = 3  // shorter texts are labels
	unreadLooked = 64 // texts to look for in a document at most
)

// unread names, in one note, the fields whose text is in no block.
func (o object) unread(s *knowledgebank.Source) []string {
	var fields []string
	have, left := "", unreadLooked
	for _, k := range slices.Sorted(keysOf(o)) {
		if fieldsUsed[strings.ToLower(k)] || s.Format == "mail" && slices.Contains(textFields, strings.ToLower(k)) {
			continue // a mail is stored without what it quotes
		}
		if have == "" {
			have = lettersIn(s)
		}
		if hasUnread(o[k], have, &left) {
			fields = append(fields, shorten(oneLine(k), 40))
		}
	}
	if len(fields) == 0 {
		return nil
	}
	return []string{"not read: the text in " + shorten(strings.Join(fields, ", "), 160)}
}

// lettersIn is a document's text without anything that layout may change.
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

// hasUnread reports whether a value holds a text that have does not.
func hasUnread(v any, have string, left *int) bool {
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
		return slices.ContainsFunc(v, func(v any) bool { return hasUnread(v, have, left) })
	case map[string]any:
		for _, k := range slices.Sorted(keysOf(v)) {
			if !fieldsUsed[strings.ToLower(k)] && hasUnread(v[k], have, left) {
				return true
			}
		}
	}
	return false
}
