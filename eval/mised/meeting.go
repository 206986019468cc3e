package mised

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/lines"
)

// meeting is a meeting with the questions about it.
type meeting struct {
	id, file  string
	said      []byte // its segments as JSON
	questions []eval.Question
	turns     map[[2]string]bool // questions with their answers
}

// segment is what one person says, with percached's field names.
type segment struct {
	Speaker string `json:"speakerName,omitempty"`
	Text    string `json:"text"`
}

// talk is an object while it is read.
type talk struct {
	where string
	object
	segments []segment
	wrong    []string       // problems of the segments
	others   map[string]int // ignored fields
}

// object reads an object and adds it to its meeting.
func (l *loader) object(where, named string, text []byte) {
	raw, err := lines.Object(bytes.TrimPrefix(bytes.TrimSpace(text), []byte("\ufeff")))
	if err != nil {
		l.data.Skip(where, "%v", err)
		return
	}
	t := &talk{where: where, object: objectOf(raw), others: map[string]int{}}
	switch {
	case t.has("meeting_transcripts"):
		l.qmsum(t, named)
	case t.has("meeting", "dialog", "transcriptSegments", "dialogTurns"):
		l.mised(t, named)
	default:
		l.data.Skip(where, "neither a MISeD dialog nor a QMSum meeting; its fields: %s", strings.Join(slices.Sorted(maps.Values(t.names)), ", "))
	}
}

func (l *loader) mised(t *talk, named string) {
	about, dialog := t.inner("meeting"), t.inner("dialog")
	t.text("dialogId")
	id := about.text("meetingId", "id")
	if outer := t.text("meetingId"); id == "" {
		id = outer
	}
	in := about
	if !in.has("transcriptSegments") {
		in = t.object
	}
	t.transcript(in, "transcriptSegments")
	m := l.meeting(t, id, named)
	if m == nil {
		return
	}
	if id == "" {
		l.data.Skip(t.where, "no meetingId: the meeting is named %s", m.file)
	}
	in = dialog
	if !in.has("dialogTurns") {
		in = t.object
	}
	l.turns(t, m, in, "dialogTurns", "turn")
	about.rest(t.others)
	dialog.rest(t.others)
	l.done(t)
}

func (l *loader) qmsum(t *talk, named string) {
	id := t.text("meetingId", "id")
	t.transcript(t.object, "meeting_transcripts")
	m := l.meeting(t, id, named)
	if m == nil {
		return
	}
	for _, name := range []string{"general_query_list", "specific_query_list"} {
		l.turns(t, m, t.object, name, strings.TrimSuffix(name, "_query_list")+" query")
	}
	l.done(t)
}

func (l *loader) done(t *talk) {
	t.rest(t.others)
	for name, n := range t.others {
		l.data.PassedOver[name] += n
	}
}

// transcript reads the segments.
func (t *talk) transcript(in object, name string) {
	items, there := in.list(name)
	if !there {
		return
	}
	silent, unnamed := 0, 0
	for _, item := range items {
		s := segment{Speaker: item.text("speakerName", "speaker"), Text: item.text("text", "content")}
		item.rest(t.others)
		switch {
		case s.Text == "":
			silent++
			continue
		case s.Speaker == "":
			unnamed++
		}
		t.segments = append(t.segments, s)
	}
	if silent > 0 {
		t.wrong = append(t.wrong, fmt.Sprintf("%d of %d segments have no text", silent, len(items)))
	}
	if unnamed > 0 {
		t.wrong = append(t.wrong, fmt.Sprintf("%d of %d segments do not say who speaks", unnamed, len(items)))
	}
}

// meeting finds or adds the meeting of a talk. It is nil if there is no transcript, or if
// there are enough meetings.
func (l *loader) meeting(t *talk, id, named string) *meeting {
	var said []byte
	if len(t.segments) > 0 {
		said, _ = json.Marshal(t.segments) // texts always marshal
	}
	for _, m := range l.meetings {
		if said == nil && id != "" && m.id == id || said != nil && bytes.Equal(m.said, said) {
			return m
		}
	}
	switch {
	case l.most > 0 && len(l.meetings) >= l.most:
		return nil
	case said == nil && id != "":
		l.data.Skip(t.where, "no transcript, here or earlier, of the meeting %s", id)
		return nil
	case said == nil:
		l.data.Skip(t.where, "no transcript and no meetingId")
		return nil
	}
	for _, wrong := range t.wrong {
		l.data.Skip(t.where, "%s", wrong)
	}
	m := &meeting{id: id, said: said, turns: map[[2]string]bool{}}
	if m.id == "" {
		m.id = named
	}
	m.file = l.fileName(m.id)
	l.meetings = append(l.meetings, m)
	return m
}

// turns adds questions.
func (l *loader) turns(t *talk, m *meeting, in object, name, what string) {
	items, there := in.list(name)
	if !there {
		l.data.Skip(t.where, "no valid %s", name)
		return
	}
	for i, item := range items {
		where := fmt.Sprintf("%s, %s %d", t.where, what, i+1)
		q := eval.Question{Text: item.text("query", "question")}
		answer := item.text("response", "answer")
		if other := item.text("paraphrase"); other != "" {
			q.Paraphrases = []string{other}
		}
		item.rest(t.others)
		switch turn := [2]string{q.Text, answer}; {
		case q.Text == "":
			l.data.Skip(where, "no query")
			continue
		case m.turns[turn]:
			l.data.Skip(where, "duplicate: same question and answer about this meeting")
			continue
		case answer == "":
			l.data.Skip(where, "no response: the question is asked without a right answer")
		default:
			q.Gold = []string{answer}
		}
		m.turns[[2]string{q.Text, answer}] = true
		m.questions = append(m.questions, q)
	}
}

// fileName is a free name for a meeting's file.
func (l *loader) fileName(id string) string {
	name := strings.Map(func(c rune) rune {
		if unicode.IsControl(c) || strings.ContainsRune(`/\<>:"|?*`, c) {
			return '_'
		}
		return c
	}, id)
	if name = strings.ToValidUTF8(name[:min(len(name), 200)], ""); strings.Trim(name, ". ") == "" {
		name = "meeting"
	}
	whole := name + ".json"
	for n := 2; l.names[whole]; n++ {
		whole = fmt.Sprintf("%s-%d.json", name, n)
	}
	l.names[whole] = true
	return whole
}

// document is the file of a meeting.
func (m *meeting) document() eval.File {
	text, _ := json.Marshal(map[string]any{"meetingId": m.id, "transcriptSegments": json.RawMessage(m.said)}) // both always marshal
	return eval.File{
		Name: m.file, Size: int64(len(text)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil },
	}
}

// object is a JSON object. Its field names are in lower case, without underscores.
type object struct {
	fields map[string]json.RawMessage
	names  map[string]string // as written
}

func objectOf(raw map[string]json.RawMessage) object {
	o := object{map[string]json.RawMessage{}, map[string]string{}}
	for name, value := range raw {
		o.fields[plain(name)], o.names[plain(name)] = value, name
	}
	return o
}

func plain(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// read reads a field and removes it. There says whether it exists, fits whether it has the
// type of to.
func (o object) read(name string, to any) (there, fits bool) {
	raw, there := o.fields[plain(name)]
	delete(o.fields, plain(name))
	if !there || string(raw) == "null" {
		return false, false
	}
	return true, json.Unmarshal(raw, to) == nil
}

func (o object) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return o.fields[plain(name)] != nil })
}

// text is the first of the fields that is a text with words.
func (o object) text(names ...string) (first string) {
	for _, name := range names {
		var s string
		if _, fits := o.read(name, &s); fits && first == "" {
			first = strings.TrimSpace(s)
		}
	}
	return first
}

// inner is the object in a field; it is empty if there is none.
func (o object) inner(name string) object {
	var raw map[string]json.RawMessage
	o.read(name, &raw)
	return objectOf(raw)
}

// list are the objects in a list; there says whether the field exists. An item that is not
// an object has no fields.
func (o object) list(name string) (items []object, there bool) {
	var raw []json.RawMessage
	if _, there = o.read(name, &raw); !there {
		return nil, false
	}
	for _, item := range raw {
		var fields map[string]json.RawMessage
		_ = json.Unmarshal(item, &fields) // an item that is not an object has no fields
		items = append(items, objectOf(fields))
	}
	return items, true
}

// rest counts the fields that were not read.
func (o object) rest(passedOver map[string]int) {
	for name := range o.fields {
		passedOver[o.names[name]]++
	}
}
