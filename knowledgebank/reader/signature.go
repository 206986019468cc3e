package reader

import (
	"context"
	"regexp"
	"strings"
)

var (
	sentFrom = regexp.MustCompile(`(?i)^(sent (wirelessly )?(from|via|by) (my |a |an |the )?(iphone|ipad|ipod|android|blackberry|samsung|galaxy|huawei|pixel|nokia|windows phone|mobile|phone|tablet|mail for windows|yahoo! ?mail|outlook|proton ?mail|gmail mobile)|get outlook for (ios|android|mac|windows|iphone)|von meinem .{2,40} gesendet|gesendet mit der .{2,40} app|envoyé (de|depuis) mon |enviado desde mi |enviado do meu |inviato da(l mio)? |verstuurd vanaf mijn |verzonden vanaf mijn |skickat från min |sendt fra min |lähetetty .{2,30}ista$|wysłane z )`)
	adFooter = regexp.MustCompile(`(?i)^(do you yahoo!\?|get your (private, )?free,? (private, )?(e-?mail|download)|join the world.s largest e-?mail service|chat with friends online|send and receive hotmail|msn photos is the easiest way|virus-free\. |this email has been (scanned|checked) (for viruses|by)|to unsubscribe from this (group|list), send|your use of yahoo! groups is subject)`)
	phone    = regexp.MustCompile(`(?i)(\(?\+?\d{1,4}\)?[ ./-]*\(?\d{2,4}\)?[ ./-]+\d{3,4}([ ./-]?\d{2,4})*\b)|\b(tel|phone|fax|cell|mobile|mobil|office|telefon|ph|pager)\b\.? ?[:#.]?`)
	contact  = regexp.MustCompile(`(?i)@\S+\.\w|\bwww\.|https?://|\b[A-Z]{2},? +\d{5}(-\d{4})?\b|\b\d{2,6} \S+ .*(street|st\.|avenue|ave\.?|road|rd\.?|drive|blvd|suite|floor)\b|\b(street|suite|floor|p\. ?o\. box)\b.*\d|\b(inc|corp|llc|llp|ltd|gmbh)\b\.?|texas|\beb ?\d{3,4}`)
)

// Signs of a disclaimer. Those in surelyLegal occur in little else.
var (
	surelyLegal = []string{
		"intended recipient", "intended only for", "intended solely for", "sole use of", "only for the use of", "not the intended",
		"not the addressee", "not the named", "in error", "relevant affiliate", "may not be relied", "circular 230",
		"irrtümlich", "destinataire", "destinatario", "geadresseerde", "par erreur", "por error", "per errore",
	}
	maybeLegal = []string{
		"confidential", "privileged", "unauthori", "prohibited", "delete ", "destroy ", "disclosure", "distribution", "review",
		"property of", "virus", "binding", "warrant", "vertraulich", "rechtlich", "unbefugt", "confidentiel", "interdit", "confidencial",
		"prohibid", "riservat", "vertrouwelijk", "notify", "benachrichtig",
	}
	aboutMail = []string{
		"mail", "message", "communication", "transmission", "transmittal", "information", "nachricht", "correo", "messaggio", "bericht", "courriel",
	}
)

// withoutSignature removes what stands below a mail without being part of it: the signature
// behind "-- ", lines that phones add, contact blocks, legal disclaimers. It removes
// nothing if nothing else would be left.
func withoutSignature(ctx context.Context, lines []string) []string {
	out := cutAtDashes(lines)
	out = dropAdverts(ctx, out)
	out = dropDisclaimers(ctx, out)
	out = dropContacts(out)
	for _, l := range out {
		if !wordless(l) {
			return out
		}
	}
	return lines
}

// cutAtDashes cuts behind "-- " if the rest is as short as a signature. Dashes without the
// space may also divide a text or head a table.
func cutAtDashes(lines []string) []string {
	const longest = 15
	left, wide, prose := 0, false, false // lines with words so far, and whether they hold long lines or prose
	bare := 0
	for _, l := range lines {
		if l == "--" {
			bare++
		}
	}
	for i := len(lines) - 1; i > 0; i-- {
		l := lines[i]
		if strings.TrimRight(l, " ") == "--" {
			parts := l == "--" && (bare > 1 || prose || table(lines[i-1]))
			if left <= longest && !wide && !parts {
				lines = append(lines[:i:i], postscript(lines[i:])...)
				left, prose = 0, false
			}
			continue
		}
		if strings.TrimSpace(l) != "" {
			left++
			wide = wide || len(l) > 120
			prose = prose || len(strings.Fields(l)) > 10
		}
	}
	return lines
}

var afterwards = regexp.MustCompile(`^\s*(P\.? ?S\.?|p\.s\.|PPS|NB|N\.B\.)[:;,.-]?\s+\S+ \S`)

// postscript is what the writer added behind the signature.
func postscript(lines []string) []string {
	for i, l := range lines {
		if afterwards.MatchString(l) {
			return lines[i:]
		}
	}
	return nil
}

// dropAdverts drops lines that programs and services add.
func dropAdverts(ctx context.Context, lines []string) []string {
	var out []string
	footer := len(lines) - 1 // where the last eight lines with words begin
	for n := 0; footer >= 0; footer-- {
		if n += filled(lines[footer : footer+1]); n > 8 {
			break
		}
	}
	sponsored := false // inside the box of a sponsor
	for i, l := range lines {
		if ended(ctx, i) {
			break
		}
		t := strings.TrimSpace(l)
		if sponsored {
			sponsored = t != "" && !strings.HasSuffix(t, "-~->")
			continue
		}
		switch {
		case strings.HasPrefix(t, "-----") && strings.Contains(t, " Sponsor ---") && strings.Contains(t, "--~--"):
			sponsored = true
			continue
		case t == "" || len(t) > 100:
		case sentFrom.MatchString(t) && !strings.Contains(t, ": ") && (i+1 == len(lines) || wordless(lines[i+1])):
			continue
		case i > footer && adFooter.MatchString(t):
			return out
		}
		out = append(out, l)
	}
	return out
}

func filled(lines []string) (n int) {
	for _, l := range lines {
		if !wordless(l) {
			n++
		}
	}
	return n
}

// span is a run of lines that are not blank.
type span struct{ from, to int }

func spans(lines []string) []span {
	var out []span
	from := -1
	for i := 0; i <= len(lines); i++ {
		blank := i == len(lines) || strings.TrimSpace(lines[i]) == "" || isRule(strings.TrimSpace(lines[i]))
		switch {
		case !blank && from < 0:
			from = i
		case blank && from >= 0:
			out = append(out, span{from, i})
			from = -1
		}
	}
	return out
}

// dropDisclaimers drops paragraphs of legal text.
func dropDisclaimers(ctx context.Context, lines []string) []string {
	all := spans(lines)
	drop := map[int]bool{} // by line
	gone := 0
	for i := len(all) - 1; i >= 0; i-- {
		if ended(ctx, i) {
			break
		}
		s := all[i]
		text := strings.Join(lines[s.from:s.to], " ")
		if words := len(strings.Fields(text)); words < 15 || words > 400 {
			continue
		}
		text = strings.ToLower(text)
		sure := occurring(text, surelyLegal)
		if sure == 0 || occurring(text, aboutMail) == 0 {
			continue
		}
		last := len(all)-1-i <= 2+gone
		if signs := sure + occurring(text, maybeLegal); signs >= 5 && sure >= 2 || signs >= 3 && last {
			gone++
			for n := s.from; n < s.to; n++ {
				drop[n] = true
			}
		}
	}
	if gone == 0 {
		return lines
	}
	var out []string
	for i, l := range lines {
		if !drop[i] {
			out = append(out, l)
		}
	}
	return out
}

// occurring counts the signs that occur in a text.
func occurring(text string, signs []string) (n int) {
	for _, s := range signs {
		if strings.Contains(text, s) {
			n++
		}
	}
	return n
}

var farewell = regexp.MustCompile(`(?i)^\s*(thanks|thank you|many thanks|(best|kind|warm) (regards|wishes)|regards|cheers|sincerely|mit freundlichen grüßen|viele grüße)[ .!]*$`)

var (
	asksFor    = regexp.MustCompile(`(?i)\b(new|following|these)\b.{0,25}\b(numbers?|contacts|address(es)?|nummern?|adressen?)\b|\b(numbers?|contacts|address(es)?|nummern?|adressen?)\b.{0,15}\b(below|follow|as follows|is|are|lautet|lauten)\b`)
	numbers    = regexp.MustCompile(`(?i)\b(tel|telephone|phone|fax|cell|mobile|mobil|office|telefon|ph|pager|home|work|direct|main|voice)\b`)
	startsName = regexp.MustCompile(`^\p{Lu}\p{L}+\b.*\d{3}`)
)

// listed reports whether the text above a block of numbers announces it.
func listed(above []string, first string) bool {
	if farewell.MatchString(strings.TrimRight(strings.TrimSpace(first), ",")) {
		return false
	}
	for i := len(above) - 1; i >= 0; i-- {
		if l := strings.TrimSpace(above[i]); l != "" {
			return strings.HasSuffix(l, ":") || asksFor.MatchString(l)
		}
	}
	return false
}

// dropContacts cuts the block of addresses and numbers below a name at the end. A short
// mail keeps it: the mail may be about it.
func dropContacts(lines []string) []string {
	all := spans(lines)
	if len(all) < 2 {
		return lines
	}
	last := all[len(all)-1]
	n := last.to - last.from
	if n < 4 || n > 14 {
		return lines
	}
	if listed(lines[:last.from], lines[last.from]) {
		return lines
	}
	phones, signs, people := 0, 0, 0
	for _, l := range lines[last.from+1 : last.to] {
		l = strings.TrimSpace(l)
		if len(l) > 60 {
			return lines
		}
		switch {
		case phone.MatchString(l):
			phones++
			signs++
			if startsName.MatchString(l) && !numbers.MatchString(l) {
				people++
			}
		case contact.MatchString(l):
			signs++
		}
	}
	at := last.from // the line with the name
	if strings.HasSuffix(strings.TrimSpace(lines[at]), ",") || farewell.MatchString(lines[at]) {
		at++
	}
	name := strings.TrimSpace(lines[at])
	if phones == 0 || people > 2 || signs < 3 || signs*2 < n-1 || len(name) > 40 || strings.ContainsAny(name, ":?@0123456789") {
		return lines
	}
	return lines[:at+1]
}
