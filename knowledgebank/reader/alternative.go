package reader

import (
	"regexp"
	"strings"
	"unicode"
)

// choose picks between forms of one text: plain text unless there is little in
// it of what the others say.
func choose(all []written) written {
	var best written
	for _, w := range all {
		switch {
		case w.empty():
		case best.empty():
			best = w
		case best.html && !w.html && !stub(w, best), !best.html && w.html && stub(best, w):
			w.mails = append(w.mails, best.mails...)
			best = w
		default:
			best.mails = append(best.mails, w.mails...)
		}
	}
	return best
}

var stubText = regexp.MustCompile(`(?i)\b(view|read|see|display)\b.{0,60}\b(browser|html)\b|\bhtml[ -](format|version|mail|message|e-?mail|capable|enabled|only)|(not|n['’]t) (support|show|display|render|view|read|open|understand)\b|\b(contains|in|is|as) html\b|kein html|html-(ansicht|format|nachricht|mail)|version html|nicht( \pL+)? (anzeigen|angezeigt|dargestellt|darstellen)|afficher|visualizzare|visualizar`)

// stub says that plain text does not say what the HTML beside it says: it only
// tells that there is some, or leaves most of it out.
func stub(text, html written) bool {
	n, m := text.words(), html.words()
	if n < 40 && m > 3*n+20 {
		return true
	}
	if len(text.text)+len(html.text) > 2*window {
		return false
	}
	more := missing(html.text, text.text)
	if n < 60 && stubText.MatchString(text.text) && (m > n || more > m/2) {
		return true
	}
	return more > 20 && more > m/3 && more > 2*missing(text.text, html.text)
}

// missing counts the words of one text that another does not have.
func missing(text, other string) (n int) {
	has := map[string]bool{}
	for _, w := range letters(other) {
		has[w] = true
	}
	for _, w := range letters(text) {
		if !has[w] {
			n++
		}
	}
	return n
}

// letters gives the words of text in small letters.
func letters(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// rootOf is which part of multipart/related the others belong to: the one that
// is named, the first, or the first that is text.
func rootOf(parts []string, start string) int {
	start = strings.Trim(start, "<> ")
	texts := -1
	for i, part := range parts {
		h := header{}
		if !strings.HasPrefix(part, "\n") {
			h, _ = readHeader(part)
		}
		if id := strings.Trim(h.get("content-id"), "<> \t\n"); start != "" && id == start {
			return i
		}
		typ, _ := media(h.get("content-type"))
		if texts < 0 && (typ == "" || strings.HasPrefix(typ, "text/") || strings.HasPrefix(typ, "multipart/") || strings.HasPrefix(typ, "message/")) {
			texts = i
		}
	}
	return max(texts, 0)
}
