package reader

import (
	"context"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/percached/percached/knowledgebank"
)

// maxNested limits the depth of parts in parts, and of mails in mails.
const maxNested = 20

// mailText is the text of a mail's own parts.
type mailText struct {
	text  string // cleaned lines
	html  bool   // from HTML: the lines are as the writer broke them
	flow  bool   // format=flowed: a line that ends in a space continues in the next one
	tight bool   // delsp=yes: that space does not belong to the text
	first bool   // the header shows that the mail answers no other
	mails []knowledgebank.Block
}

func (w mailText) empty() bool { return strings.TrimSpace(w.text) == "" && len(w.mails) == 0 }

func (w mailText) words() int { return len(strings.Fields(w.text)) }

// part reads one part of a mail and all parts in it.
func (p *mailReader) part(ctx context.Context, h header, body string, depth int) mailText {
	if ctx.Err() != nil {
		return mailText{} // the caller throws the mail away
	}
	typ, params := mediaType(h.get("content-type"))
	disposition, _ := mediaType(h.get("content-disposition"))
	name := fileName(h)
	p.parts++
	if p.parts > p.o.MaxParts || depth > maxNested {
		p.noteUnread(name, typ)
		return mailText{}
	}
	if typ == "" || !strings.Contains(typ, "/") {
		typ = "text/plain"
	}
	// The standard forbids encoded multiparts, but they occur.
	encoding := strings.ToLower(strings.TrimSpace(h.get("content-transfer-encoding")))
	if i := strings.IndexAny(encoding, " ;\t\n("); i > 0 {
		encoding = encoding[:i]
	}
	switch {
	case strings.HasPrefix(typ, "multipart/"):
		return p.multipart(ctx, typ, params, decodeTransfer(encoding, body), depth)
	case typ == "message/rfc822" || typ == "message/global":
		return mailText{mails: p.innerMail(ctx, decodeTransfer(encoding, body), depth)}
	case disposition == "attachment" || name != "" || !strings.HasPrefix(typ, "text/"):
		shown := strings.HasPrefix(typ, "image/") && (disposition != "attachment" || h.get("content-id") != "")
		p.files = append(p.files, attachment{name, typ, decodeTransfer(encoding, body), p.label(encoding, body, params["charset"]), shown})
		return mailText{}
	case typ == "text/html":
		page := []byte(decodeTransfer(encoding, body))
		return webText(ctx, charset(page, p.label(encoding, body, or(params["charset"], metaCharset(page)))))
	case typ != "text/plain" && typ != "text/enriched" && typ != "text/markdown":
		p.noteUnread(name, typ)
		return mailText{}
	}
	raw := []byte(decodeTransfer(encoding, body))
	if encoding != "quoted-printable" && encoding != "base64" && quotedPrintable(body) {
		raw, encoding = unquote(raw), "quoted-printable"
	}
	text := decode(raw, p.label(encoding, body, params["charset"]))
	if typ == "text/enriched" || strings.Contains(text, "</color>") {
		text = enriched(text)
	}
	w := plainText(ctx, text, strings.EqualFold(params["format"], "flowed"))
	w.tight = w.flow && strings.EqualFold(params["delsp"], "yes")
	return w
}

// label is the charset of a part. If a mark says that the file is UTF-8, parts without
// an encoding are UTF-8: their headers name the charset that they had before.
func (p *mailReader) label(encoding, body, named string) string {
	if !p.utf8 || encoding == "quoted-printable" || encoding == "base64" || !utf8.ValidString(body) {
		return named
	}
	if ascii([]byte(body)) && !strings.HasPrefix(strings.ToLower(named), "utf-16") {
		return named // it may still be encoded, as ISO-2022-JP is
	}
	return "utf-8"
}

var (
	wholePage = regexp.MustCompile(`(?i)<(!doctype html|html)[\s>]`)
	pageBody  = regexp.MustCompile(`(?i)<(body|/html)[\s>]`)
	openTag   = regexp.MustCompile(`(?i)<(p|div|br|td|font|tr|li|span)[\s>]`)
	richParam = regexp.MustCompile(`(?i)<param>[^<]*</param>|</?(color|smaller|bigger|bold|italic|underline|fontfamily|excerpt|fixed|center|flushleft|flushright|paraindent|nofill|x-color|x-tad-smaller)>`)
)

func enriched(text string) string { return richParam.ReplaceAllString(text, "") }

// plainText reads text that should be plain. All of it, or its end, may turn out to be
// HTML.
func plainText(ctx context.Context, text string, flow bool) mailText {
	at := wholePage.FindStringIndex(text)
	if at != nil && strings.TrimSpace(text[:at[0]]) == "" {
		return webText(ctx, text)
	}
	if at != nil && (at[0] == 0 || text[at[0]-1] == '\n') && pageBody.MatchString(text[at[0]:]) {
		return mailText{text: clean(text[:at[0]]) + "\n\n" + webText(ctx, text[at[0]:]).text}
	}
	if n := len(openTag.FindAllStringIndex(text, 1000)); n > 5 && n*3 > strings.Count(text, "\n") && (strings.Contains(text, "</") || brOnly(text, n)) {
		return webText(ctx, text)
	}
	return mailText{text: clean(text), flow: flow}
}

// brOnly reports whether every tag in a text ends a line. A text with other tags, none
// of them closed, writes about tags.
func brOnly(text string, n int) bool {
	return strings.Count(strings.ToLower(text), "<br") >= n
}

// noteUnread adds a note about a part that is not read.
func (p *mailReader) noteUnread(name, typ string) {
	if typ == "" {
		typ = "text/plain"
	}
	if name == "" {
		name = "without a name"
	}
	p.note("attachment " + name + " (" + oneLine(typ) + ") not read")
}

// note says what is not read.
func (p *mailReader) note(text string) {
	if len(p.notes) < p.o.MaxParts {
		p.notes = append(p.notes, strings.Join(strings.Fields(clean(text)), " "))
	}
}

// webText converts the HTML of a mail to text, with ">" before quoted lines.
func webText(ctx context.Context, s string) mailText {
	return mailText{text: htmlText(ctx, s, true).text, html: true}
}

func (p *mailReader) multipart(ctx context.Context, typ string, params map[string]string, body string, depth int) mailText {
	parts := splitParts(body, params["boundary"])
	if len(parts) == 0 {
		// Without parts, read all of the body.
		return p.part(ctx, header{}, body, depth+1)
	}
	var all []mailText
	root := 0
	if typ == "multipart/related" {
		root = rootOf(parts, params["start"])
	}
	for i, part := range parts {
		h, body := readHeader(strings.TrimLeft(part, "\n"))
		if strings.HasPrefix(part, "\n") {
			h, body = header{}, part // a part may have no header
		}
		if typ == "multipart/digest" && h.get("content-type") == "" {
			h["content-type"] = []string{"message/rfc822"}
		}
		if typ == "multipart/related" && i != root && h.get("content-disposition") == "" {
			h["content-disposition"] = []string{"attachment"}
		}
		all = append(all, p.part(ctx, h, body, depth+1))
	}
	if typ == "multipart/alternative" {
		return chooseForm(all)
	}
	return concat(all)
}

func concat(all []mailText) mailText {
	var out mailText
	var texts []string
	for _, w := range all {
		out.mails = append(out.mails, w.mails...)
		if strings.TrimSpace(w.text) == "" {
			continue
		}
		if len(texts) == 0 {
			out.html, out.flow, out.tight = w.html, w.flow, w.tight
		}
		out.html = out.html && w.html
		out.flow = out.flow && w.flow
		out.tight = out.tight && w.tight
		texts = append(texts, w.text)
	}
	out.text = strings.Join(texts, "\n\n")
	return out
}

// splitParts splits a multipart body at its boundary. If the boundary does not occur, it
// uses a line that looks like one. The last part may lack its end.
func splitParts(body, boundary string) []string {
	marker := "--" + boundary
	if boundary == "" || !strings.Contains(body, marker) {
		if marker = guessBoundary(body); marker == "" {
			return nil
		}
	}
	var out []string
	begun := -1
	for at := 0; at < len(body); {
		end := strings.IndexByte(body[at:], '\n')
		if end < 0 {
			end = len(body)
		} else {
			end += at + 1
		}
		l := body[at:end]
		if tail, ok := strings.CutPrefix(l, marker); ok {
			tail = strings.TrimRight(tail, " \t\n")
			if tail == "" || tail == "--" {
				if begun >= 0 {
					out = append(out, strings.TrimSuffix(body[begun:at], "\n"))
				}
				if begun = end; tail == "--" {
					begun = -1 // readers never see what follows the end
				}
			}
		}
		at = end
	}
	if begun >= 0 && begun < len(body) {
		out = append(out, body[begun:])
	}
	return out
}

// guessBoundary finds the boundary that the header should have named: a line that begins with
// two dashes and is followed by the header of a part.
func guessBoundary(body string) string {
	for rest := body; rest != ""; {
		l, more, _ := strings.Cut(rest, "\n")
		if l = strings.TrimRight(l, " \t"); len(l) > 6 && strings.HasPrefix(l, "--") && !strings.HasSuffix(l, "--") {
			if len(more) > 8 && strings.EqualFold(more[:8], "content-") {
				return l
			}
		}
		rest = more
	}
	return ""
}

// chooseForm picks one of several forms of a text: plain text, unless it lacks most of what
// the others say.
func chooseForm(all []mailText) mailText {
	var best mailText
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

// stub reports whether plain text does not replace the HTML beside it: it only
// announces the HTML, or leaves most of it out.
func stub(text, html mailText) bool {
	n, m := text.words(), html.words()
	if n < 40 && m > 3*n+20 {
		return true
	}
	if len(text.text)+len(html.text) > 2*window {
		return false
	}
	more := missingWords(html.text, text.text)
	if n < 60 && stubText.MatchString(text.text) && (m > n || more > m/2) {
		return true
	}
	return more > 20 && more > m/3 && more > 2*missingWords(text.text, html.text)
}

// missingWords counts the words of one text that the other does not have.
func missingWords(text, other string) (n int) {
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

// letters returns the words of a text in small letters.
func letters(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// rootOf finds the part of a multipart/related to which the others belong: the named
// one, the first, or the first that is text.
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
		typ, _ := mediaType(h.get("content-type"))
		if texts < 0 && (typ == "" || strings.HasPrefix(typ, "text/") || strings.HasPrefix(typ, "multipart/") || strings.HasPrefix(typ, "message/")) {
			texts = i
		}
	}
	return max(texts, 0)
}
