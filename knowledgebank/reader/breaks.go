package reader

import (
	"regexp"
	"strings"
)

// pause is where another passage begins.
type pause struct {
	cause cause
	about string
	back  int // lines before it that belong to it
	next  int // the first line of the passage
}

var (
	// A word for "original message" between dashes.
	originalMark = regexp.MustCompile(`(?i)^[ \t]*[-_]{2,} ?(original\s+message|original appointment|original e-?mail|reply message|urspr.ngliche nachricht|original-?nachricht|message d.origine|message original|mensaje original|messaggio originale|oorspronkelijk bericht|mensagem original|ursprungligt meddelande|opprinnelig melding|oprindelig meddelelse|alkuper.inen viesti|wiadomo.. oryginalna|исходное сообщение|原始邮件|元のメッセージ) ?[-_]*`)
	forwardMark  = regexp.MustCompile(`(?i)^[ \t]*([-_]{2,} ?(forwarded (message|by|mail|email)|weitergeleitete nachricht|message transf.r.|message r.exp.di.|mensaje reenviado|messaggio inoltrato|doorgestuurd bericht|mensagem encaminhada|vidarebefordrat meddelande|videresendt|пересылаемое сообщение|转发邮件|転送メッセージ|inline attachment follows)|begin forwarded message:|anfang der weitergeleiteten nachricht:?|d.but du message (r.exp.di.|transf.r.) ?:|inizio messaggio inoltrato:|inicio del mensaje reenviado:|begin doorgestuurd bericht:)`)
	wroteMark    = regexp.MustCompile(`(?i)(\b(wrote|writes|schrieb|schreef|skrev|napisał\(?a?\)?|escribió|escreveu|scritto|kirjoitti|пишет|написал\(?а?\)?)|a écrit|寫道|写道)[^:\n]{0,40}\s*[:：]\s*$`)
	wroteInline  = regexp.MustCompile(`^\s*["'\pL][^<>:]{0,60}<[^<>@\s]+@[^<>\s]+> (wrote|writes|schrieb|a écrit|escribió) ?:`)
	wroteStart   = regexp.MustCompile(`(?i)^[\s*]*(on|am|le|el|il|op|em|den|på|dnia|w dniu|em|at|-{2,3})\s.*(\d|@)`)
	clockTime    = regexp.MustCompile(`\b\d{1,2}[:.h]\d\d\b|\d ?[ap]\.?m\b`)
	dayAndYear   = regexp.MustCompile(`\b(19|20)\d\d\b|\d[./-]\d`)
	notesDate    = regexp.MustCompile(`(?i)\d{1,2}/\d{1,2}/\d{2,4},? +\d{1,2}:\d\d`)
)

// breakAt says whether another person's words begin at a line.
func breakAt(lines []string, i int, first bool) (pause, bool) {
	l := lines[i]
	mark := strings.TrimLeft(l, " \t*")
	if mark == "" || mark[0] == '>' {
		return pause{}, false
	}
	dashes := mark[0] == '-' || mark[0] == '_'
	switch {
	case dashes && originalMark.MatchString(l):
		return quotedHeader(lines, i+1, pause{cause: byReply, next: i + 1}), true
	case (dashes || strings.HasSuffix(l, ":") || strings.HasSuffix(strings.TrimSpace(l), ":")) && forwardMark.MatchString(l):
		p := pause{cause: byForward, next: i + 1}
		if dashes {
			p = notesForward(lines, i)
		}
		return quotedHeader(lines, p.next, p), true
	case dashes && rule(mark):
		// Outlook draws a line and sets the header below it.
		if h, ok := headerBlock(lines, skipBlank(lines, i+1)); ok {
			return pause{cause: byReply, about: h.about, next: h.next}, true
		}
		return pause{}, false
	}
	if h, ok := headerBlock(lines, i); ok {
		return pause{cause: byReply, about: h.about, back: h.back, next: h.next}, true
	}
	return attributed(lines, i, first)
}

// attributed finds "On Monday, Ana wrote:" that no marked line follows: then all
// below is quoted. Minutes and letters cite people so too: it must say when, and
// in a mail that answers none at what time or by which address.
func attributed(lines []string, i int, first bool) (pause, bool) {
	if l := lines[i]; strings.Contains(l, "> ") && wroteInline.MatchString(l) {
		if next := skipBlank(lines, i+1); next == len(lines) || !marked(lines[next]) {
			return pause{cause: byReply, next: i + 1}, true
		}
		return pause{}, false
	}
	if len(lines[i]) > 300 || !wroteStart.MatchString(lines[i]) {
		return pause{}, false
	}
	text := ""
	for n := 0; n < 3 && i+n < len(lines) && strings.TrimSpace(lines[i+n]) != ""; n++ {
		text += " " + lines[i+n]
		if !wroteMark.MatchString(text) {
			continue
		}
		next := skipBlank(lines, i+n+1)
		if next == len(lines) || marked(lines[next]) {
			return pause{}, false
		}
		if !strings.Contains(text, "@") && !clockTime.MatchString(text) && (first || !dayAndYear.MatchString(text)) {
			return pause{}, false
		}
		return pause{cause: byReply, next: next}, true
	}
	return pause{}, false
}

// attributes says whether text is an attribution.
func attributes(text string) bool {
	text = strings.TrimRight(text, " ")
	return len(text) < 300 && (strings.HasSuffix(text, ":") || strings.HasSuffix(text, "：")) && wroteMark.MatchString(text)
}

// quotedHeader reads the header behind a mark, if there is one.
func quotedHeader(lines []string, i int, p pause) pause {
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
// which may go over two lines.
func notesForward(lines []string, i int) pause {
	p := pause{cause: byForward, next: i + 1}
	if l := strings.TrimRight(lines[i], " "); !strings.HasSuffix(l, "--") && i+1 < len(lines) {
		if next := strings.TrimRight(lines[i+1], " "); strings.HasSuffix(next, "---") && len(next) < 90 {
			p.next++
		}
	}
	// Below it the mail's own header, in the form of Notes.
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

// bare is a subject without "Re:" and its kin.
func bare(subject string) string {
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
