package reader

import (
	"regexp"
	"strings"
)

// quoteStart is where another passage begins.
type quoteStart struct {
	cause cause
	about string
	back  int // lines before it that belong to the passage
	next  int // first line of the passage
}

var (
	// "Original message" in many languages, between dashes.
	originalMark = regexp.MustCompile(`(?i)^[ \t]*[-_]{2,} ?(original\s+message|original appointment|original e-?mail|reply message|urspr.ngliche nachricht|original-?nachricht|message d.origine|message original|mensaje original|messaggio originale|oorspronkelijk bericht|mensagem original|ursprungligt meddelande|opprinnelig melding|oprindelig meddelelse|alkuper.inen viesti|wiadomo.. oryginalna|исходное сообщение|原始邮件|元のメッセージ) ?[-_]*`)
	forwardMark  = regexp.MustCompile(`(?i)^[ \t]*([-_]{2,} ?(forwarded (message|by|mail|email)|weitergeleitete nachricht|message transf.r.|message r.exp.di.|mensaje reenviado|messaggio inoltrato|doorgestuurd bericht|mensagem encaminhada|vidarebefordrat meddelande|videresendt|пересылаемое сообщение|转发邮件|転送メッセージ|inline attachment follows)|begin forwarded message:|anfang der weitergeleiteten nachricht:?|d.but du message (r.exp.di.|transf.r.) ?:|inizio messaggio inoltrato:|inicio del mensaje reenviado:|begin doorgestuurd bericht:)`)
	wroteMark    = regexp.MustCompile(`(?i)(\b(wrote|writes|schrieb|schreef|skrev|napisał\(?a?\)?|escribió|escreveu|scritto|kirjoitti|пишет|написал\(?а?\)?)|a écrit|寫道|写道)[^:\n]{0,40}\s*[:：]\s*$`)
	wroteInline  = regexp.MustCompile(`^\s*["'\pL][^<>:]{0,60}<[^<>@\s]+@[^<>\s]+> (wrote|writes|schrieb|a écrit|escribió) ?:`)
	wroteStart   = regexp.MustCompile(`(?i)^[\s*]*(on|am|le|el|il|op|em|den|på|dnia|w dniu|em|at|-{2,3})\s.*(\d|@)`)
	clockTime    = regexp.MustCompile(`\b\d{1,2}[:.h]\d\d\b|\d ?[ap]\.?m\b`)
	dayAndYear   = regexp.MustCompile(`\b(19|20)\d\d\b|\d[./-]\d`)
	notesDate    = regexp.MustCompile(`(?i)\d{1,2}/\d{1,2}/\d{2,4},? +\d{1,2}:\d\d`)
)

// breakAt reports whether another person's words begin at a line.
func breakAt(lines []string, i int, first bool) (quoteStart, bool) {
	l := lines[i]
	mark := strings.TrimLeft(l, " \t*")
	if mark == "" || mark[0] == '>' {
		return quoteStart{}, false
	}
	dashes := mark[0] == '-' || mark[0] == '_'
	switch {
	case dashes && originalMark.MatchString(l):
		return quotedHeader(lines, i+1, quoteStart{cause: byReply, next: i + 1}), true
	case (dashes || strings.HasSuffix(l, ":") || strings.HasSuffix(strings.TrimSpace(l), ":")) && forwardMark.MatchString(l):
		p := quoteStart{cause: byForward, next: i + 1}
		if dashes {
			p = notesForward(lines, i)
		}
		return quotedHeader(lines, p.next, p), true
	case dashes && isRule(mark):
		// Outlook draws a line and puts the header below it.
		if h, ok := headerBlock(lines, skipBlank(lines, i+1)); ok {
			return quoteStart{cause: byReply, about: h.about, next: h.next}, true
		}
		return quoteStart{}, false
	}
	if h, ok := headerBlock(lines, i); ok {
		return quoteStart{cause: byReply, about: h.about, back: h.back, next: h.next}, true
	}
	return findAttribution(lines, i, first)
}

// findAttribution finds "On Monday, Ana wrote:" without marked lines behind it: then all
// text below is quoted. Minutes and letters cite people in the same way. So it requires
// a date, and in a mail that answers no other a time of day or an address.
func findAttribution(lines []string, i int, first bool) (quoteStart, bool) {
	if l := lines[i]; strings.Contains(l, "> ") && wroteInline.MatchString(l) {
		if next := skipBlank(lines, i+1); next == len(lines) || !marked(lines[next]) {
			return quoteStart{cause: byReply, next: i + 1}, true
		}
		return quoteStart{}, false
	}
	if len(lines[i]) > 300 || !wroteStart.MatchString(lines[i]) {
		return quoteStart{}, false
	}
	text := ""
	for n := 0; n < 3 && i+n < len(lines) && strings.TrimSpace(lines[i+n]) != ""; n++ {
		text += " " + lines[i+n]
		if !wroteMark.MatchString(text) {
			continue
		}
		next := skipBlank(lines, i+n+1)
		if next == len(lines) || marked(lines[next]) {
			return quoteStart{}, false
		}
		if !strings.Contains(text, "@") && !clockTime.MatchString(text) && (first || !dayAndYear.MatchString(text)) {
			return quoteStart{}, false
		}
		return quoteStart{cause: byReply, next: next}, true
	}
	return quoteStart{}, false
}

// isAttribution reports whether text is an attribution.
func isAttribution(text string) bool {
	text = strings.TrimRight(text, " ")
	return len(text) < 300 && (strings.HasSuffix(text, ":") || strings.HasSuffix(text, "：")) && wroteMark.MatchString(text)
}

// quotedHeader reads the header behind a mark, if there is one.
func quotedHeader(lines []string, i int, p quoteStart) quoteStart {
	i = skipBlank(lines, i)
	if h, ok := fields(lines, i); ok {
		if h.about != "" {
			p.about = h.about
		}
		p.next = h.next
	}
	return p
}

// notesForward reads "--- Forwarded by Ana Ruiz/HOU/ECT on 02/04/2025 10:07 AM ---",
// which may span two lines.
func notesForward(lines []string, i int) quoteStart {
	p := quoteStart{cause: byForward, next: i + 1}
	if l := strings.TrimRight(lines[i], " "); !strings.HasSuffix(l, "--") && i+1 < len(lines) {
		if next := strings.TrimRight(lines[i+1], " "); strings.HasSuffix(next, "---") && len(next) < 90 {
			p.next++
		}
	}
	// Below it, Lotus Notes puts the mail's own header.
	j := skipBlank(lines, p.next)
	for n := 0; n < 12 && j+n < len(lines); n++ {
		if f, _ := field(lines[j+n]); f == toField || f == fromField {
			if h, ok := headerBlock(lines, j+n); ok && h.back <= n {
				p.about, p.next = h.about, h.next
			}
			break
		}
	}
	return p
}

func skipBlank(lines []string, i int) int {
	for i < len(lines) && strings.TrimSpace(lines[i]) == "" {
		i++
	}
	return i
}

// bareSubject is a subject without "Re:" and similar words.
func bareSubject(subject string) string {
	for {
		head, rest, ok := strings.Cut(subject, ":")
		switch strings.ToLower(strings.TrimSpace(head)) {
		case "re", "fw", "fwd", "aw", "wg", "tr", "rv", "sv", "vs", "antw", "res", "enc", "rif", "odp", "r", "i":
		default:
			ok = false
		}
		if !ok {
			return oneLine(subject)
		}
		subject = rest
	}
}

// fieldKind is the kind of a line in the header that mail programs put above a quote.
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

// field reads one line like "From: Ana Ruiz", with or without stars.
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

// quotedFields is such a header.
type quotedFields struct {
	about string
	back  int // lines before it that belong to the header
	next  int // the line behind it
}

// headerBlock finds a header without a mark above it: "From" and then "Sent", "Date" or
// "To"; or, as Lotus Notes writes it, "To" with a name and a date above.
func headerBlock(lines []string, i int) (quotedFields, bool) {
	if i >= len(lines) {
		return quotedFields{}, false
	}
	first, value := field(lines[i])
	switch first {
	case fromField:
		next := skipBlank(lines, i+1)
		if next > i+2 || next == len(lines) {
			return quotedFields{}, false
		}
		switch second, _ := field(lines[next]); second {
		case sentField, toField, otherField:
			return fields(lines, i)
		}
		// "From: Ana Ruiz/HOU/ECT on 02/04/2025 10:07 AM", or the date in a column.
		if !notesDate.MatchString(value) {
			return quotedFields{}, false
		}
		return fields(lines, i)
	case toField:
		return notesBlock(lines, i)
	case subjectField:
		// Netscape and its successors put the subject first.
		next, _ := field(lines[min(i+1, len(lines)-1)])
		if third, _ := field(lines[min(i+2, len(lines)-1)]); next == sentField && third == fromField {
			return fields(lines, i)
		}
	}
	return quotedFields{}, false
}

// notesBlock reads "Ana Ruiz / 02/04/2025 10:07 AM / To: ... / cc: / Subject: ...".
func notesBlock(lines []string, i int) (quotedFields, bool) {
	h, ok := fields(lines, i)
	if !ok {
		return quotedFields{}, false
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
		for n := back + 1; n <= back+2 && n <= i && (who == "" || n == back+1 && isRule(lines[i-back-1])); n++ {
			above := strings.TrimSpace(lines[i-n])
			if above == "" || isRule(above) || len(above) > 80 {
				break
			}
			who, h.back = strings.TrimSuffix(above, " on"), n
		}
		h.about = about(who, l[at[0]:], subjectOf(h.about))
		return h, true
	}
	return quotedFields{}, false
}

// fields reads fields from line i on. They form a header if it has a sender or
// receiver, and a subject or date. Lists of names may span many lines.
func fields(lines []string, i int) (quotedFields, bool) {
	var from, sent, subject string
	var seen [otherField + 1]bool
	last, next, loose := noField, i, 0
	for j := i; j < len(lines) && j < i+120; j++ {
		l := strings.TrimSpace(lines[j])
		kind, value := field(l)
		if kind == noField {
			// The list continues, or the header ends.
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
		return quotedFields{}, false
	}
	if !seen[subjectField] && !strings.Contains(from, "@") && !clockTime.MatchString(sent) && !dayAndYear.MatchString(sent) && !notesDate.MatchString(from) {
		// A journey: "From: Hamburg", "To: Bremen", "Date: 4 March".
		return quotedFields{}, false
	}
	if at := notesDate.FindStringIndex(from); at != nil && sent == "" {
		from, sent = strings.TrimSuffix(strings.TrimSpace(from[:at[0]]), " on"), from[at[0]:]
	}
	return quotedFields{about: about(from, sent, subject), next: next}, true
}

// soonField reports whether a field follows within a few lines.
func soonField(lines []string, i int) bool {
	for n := 0; n < 3 && i+n < len(lines); n++ {
		if kind, _ := field(lines[i+n]); kind != noField {
			return true
		}
	}
	return false
}

// about is the line above a quote that is kept.
func about(from, sent, subject string) string {
	if from == "" && sent == "" {
		if subject == "" {
			return ""
		}
		return "Mail: " + bareSubject(subject)
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
	if subject = bareSubject(subject); subject != "" {
		out += ": " + subject
	}
	return out
}

func subjectOf(about string) string {
	_, subject, _ := strings.Cut(about, ": ")
	return subject
}
