package reader

import "strings"

// fieldKind is a line of the header that mail programs put above what they quote.
type fieldKind uint8

const (
	noField fieldKind = iota
	fromField
	sentField
	toField
	subjectField
	otherField
)

var fieldNames = map[string]fieldKind{
	"from": fromField, "von": fromField, "de": fromField, "da": fromField, "van": fromField, "fra": fromField, "från": fromField,
	"od": fromField, "от": fromField, "lähettäjä": fromField, "发件人": fromField, "差出人": fromField, "보낸 사람": fromField, "kimden": fromField,
	"sent": sentField, "date": sentField, "gesendet": sentField, "datum": sentField, "envoyé": sentField, "enviado": sentField,
	"enviado el": sentField, "enviada em": sentField, "inviato": sentField, "data": sentField, "fecha": sentField, "verzonden": sentField,
	"sendt": sentField, "skickat": sentField, "dato": sentField, "wysłano": sentField, "дата": sentField, "отправлено": sentField,
	"发送时间": sentField, "日期": sentField, "送信日時": sentField, "date sent": sentField, "sent by": otherField,
	"to": toField, "an": toField, "à": toField, "a": toField, "para": toField, "aan": toField, "til": toField, "till": toField,
	"do": toField, "кому": toField, "收件人": toField, "宛先": toField,
	"subject": subjectField, "betreff": subjectField, "objet": subjectField, "asunto": subjectField, "oggetto": subjectField,
	"onderwerp": subjectField, "emne": subjectField, "ämne": subjectField, "assunto": subjectField, "temat": subjectField,
	"тема": subjectField, "主题": subjectField, "件名": subjectField,
	"cc": otherField, "bcc": otherField, "kopie": otherField, "copie": otherField, "kopi": otherField, "kopia": otherField,
	"importance": otherField, "sensitivity": otherField, "reply-to": otherField, "antwort an": otherField, "attachments": otherField,
	"wichtigkeit": otherField, "priority": otherField, "organization": otherField, "message-id": otherField,
	"return-path": otherField, "full-name": otherField, "mime-version": otherField, "content-type": otherField, "received": otherField,
	"x-mailer": otherField, "content-transfer-encoding": otherField, "when": otherField, "where": otherField,
}

// field reads one line like "From: Ana Ruiz", starred or not.
func field(l string) (fieldKind, string) {
	l = strings.TrimLeft(l, " \t*")
	name, value, ok := strings.Cut(l, ":")
	if !ok || len(name) > 24 {
		if name, value, ok = strings.Cut(l, "："); !ok || len(name) > 24 {
			return noField, ""
		}
	}
	name = strings.TrimRight(name, " *")
	if len(name) > 2 && name == strings.ToUpper(name) && name[0] < 0x80 {
		return noField, "" // the head of a memorandum: it is content
	}
	return fieldNames[strings.ToLower(name)], strings.Trim(value, " \t*")
}

// block is such a header.
type block struct {
	about string
	back  int // lines before it that belong to it
	next  int // the line behind it
}

// headerBlock finds a header that begins at a line by itself: "From" and then
// "Sent", "Date" or "To"; or, as Lotus Notes writes it, "To" with a name and a
// date above.
func headerBlock(lines []string, i int) (block, bool) {
	if i >= len(lines) {
		return block{}, false
	}
	first, value := field(lines[i])
	switch first {
	case fromField:
		next := skipBlank(lines, i+1)
		if next > i+2 || next == len(lines) {
			return block{}, false
		}
		switch second, _ := field(lines[next]); second {
		case sentField, toField, otherField:
			return fields(lines, i)
		}
		// "From: Ana Ruiz/HOU/ECT on 02/04/2025 10:07 AM", or the date in a column.
		if !notesDate.MatchString(value) {
			return block{}, false
		}
		return fields(lines, i)
	case toField:
		return notesBlock(lines, i)
	case subjectField:
		// As Netscape and its heirs write it: the subject first.
		next, _ := field(lines[min(i+1, len(lines)-1)])
		if third, _ := field(lines[min(i+2, len(lines)-1)]); next == sentField && third == fromField {
			return fields(lines, i)
		}
	}
	return block{}, false
}

// notesBlock reads "Ana Ruiz / 02/04/2025 10:07 AM / To: ... / cc: / Subject: ...".
func notesBlock(lines []string, i int) (block, bool) {
	h, ok := fields(lines, i)
	if !ok {
		return block{}, false
	}
	seen := 0
	for back := 1; back <= 8 && back <= i && seen < 4; back++ {
		l := strings.TrimSpace(lines[i-back])
		if l == "" {
			continue
		}
		seen++
		at := notesDate.FindStringIndex(l)
		if at == nil {
			continue
		}
		h.back = back
		who := strings.TrimSuffix(strings.TrimSpace(l[:at[0]]), " on")
		if _, value := field(who); value != "" {
			who = value
		}
		for n := back + 1; n <= back+2 && n <= i && (who == "" || n == back+1 && rule(lines[i-back-1])); n++ {
			above := strings.TrimSpace(lines[i-n])
			if above == "" || rule(above) || len(above) > 80 {
				break
			}
			who, h.back = strings.TrimSuffix(above, " on"), n
		}
		h.about = about(who, l[at[0]:], subjectOf(h.about))
		return h, true
	}
	return block{}, false
}

// fields reads the fields from a line on: a header if a sender or receiver is
// there and a subject or date. Lists of names may go over many lines.
func fields(lines []string, i int) (block, bool) {
	var from, sent, subject string
	var seen [otherField + 1]bool
	last, next, loose := noField, i, 0
	for j := i; j < len(lines) && j < i+120; j++ {
		l := strings.TrimSpace(lines[j])
		kind, value := field(l)
		if kind == noField {
			// A list that goes on, or the end.
			blank := l == ""
			switch {
			case last == subjectField, blank && seen[subjectField] && seen[fromField], blank && seen[subjectField] && seen[toField]:
				j = len(lines)
			case blank:
				if loose++; loose > 2 {
					j = len(lines)
				}
			case last != toField && last != otherField && last != fromField, !strings.ContainsAny(l, "@;,<>/") && !soonField(lines, j+1):
				j = len(lines)
			}
			continue
		}
		if seen[kind] && kind != otherField {
			break
		}
		seen[kind], last, next = true, kind, j+1
		switch kind {
		case fromField:
			from = value
		case sentField:
			sent = value
		case subjectField:
			subject = value
		}
	}
	if !seen[fromField] && !seen[toField] || !seen[subjectField] && !(seen[fromField] && seen[sentField]) {
		return block{}, false
	}
	if !seen[subjectField] && !strings.Contains(from, "@") && !clockTime.MatchString(sent) && !dayAndYear.MatchString(sent) && !notesDate.MatchString(from) {
		// "From: Hamburg", "To: Bremen", "Date: 4 March".
		return block{}, false
	}
	if at := notesDate.FindStringIndex(from); at != nil && sent == "" {
		from, sent = strings.TrimSuffix(strings.TrimSpace(from[:at[0]]), " on"), from[at[0]:]
	}
	return block{about: about(from, sent, subject), next: next}, true
}

// soonField says that a field follows within a few lines.
func soonField(lines []string, i int) bool {
	for n := 0; n < 3 && i+n < len(lines); n++ {
		if kind, _ := field(lines[i+n]); kind != noField {
			return true
		}
	}
	return false
}

// about is the one line that a kept quote begins with.
func about(from, sent, subject string) string {
	if from == "" && sent == "" {
		if subject == "" {
			return ""
		}
		return "Mail: " + bare(subject)
	}
	out := "Mail"
	// Notes and Outlook append the system's name for a person.
	from, _, _ = strings.Cut(from, "[mailto")
	if name := person(from); name != "" {
		if at := strings.IndexAny(name, "/@"); at > 0 && strings.Contains(name[:at], " ") {
			name = name[:at]
		}
		out += " from " + strings.TrimSpace(name)
	}
	if sent = oneLine(sent); sent != "" {
		out += ", " + sent
	}
	if subject = bare(subject); subject != "" {
		out += ": " + subject
	}
	return out
}

func subjectOf(about string) string {
	_, subject, _ := strings.Cut(about, ": ")
	return subject
}
