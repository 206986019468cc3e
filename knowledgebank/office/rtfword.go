package office

import (
	"strconv"
	"strings"
	"unicode"
)

func letterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// control reads what follows a backslash.
func (r *rtf) control() {
	if r.at >= len(r.data) {
		return
	}
	c := r.data[r.at]
	if c == '\'' {
		r.at++
		r.hex()
		return
	}
	if c|0x20 < 'a' || c|0x20 > 'z' {
		r.at++
		r.symbol(c)
		return
	}
	begin := r.at
	for r.at < len(r.data) && r.data[r.at]|0x20 >= 'a' && r.data[r.at]|0x20 <= 'z' {
		r.at++
	}
	word := string(r.data[begin:min(r.at, begin+32)])
	begin = r.at
	if r.at < len(r.data) && r.data[r.at] == '-' {
		r.at++
	}
	for r.at < len(r.data) && r.data[r.at] >= '0' && r.data[r.at] <= '9' {
		r.at++
	}
	n, err := strconv.Atoi(string(r.data[begin:min(r.at, begin+11)]))
	given := err == nil
	if r.at < len(r.data) && r.data[r.at] == ' ' {
		r.at++
	}
	if word == "bin" {
		r.at += min(max(n, 0), len(r.data)-r.at)
		return
	}
	if r.skip > 0 {
		r.skip--
		return
	}
	r.decode()
	r.word(word, n, given)
}

// hex reads a character in two hexadecimal digits.
func (r *rtf) hex() {
	n, err := strconv.ParseUint(string(r.data[r.at:min(r.at+2, len(r.data))]), 16, 8)
	if err != nil {
		return
	}
	r.at += 2
	r.char(byte(n))
}

// symbol reads a control symbol.
func (r *rtf) symbol(c byte) {
	if r.skip > 0 && c != '*' {
		r.skip--
		return
	}
	switch c {
	case '\\', '{', '}':
		r.char(c)
		return
	}
	r.decode()
	switch c {
	case '*':
		r.optional()
	case '~':
		r.put(" ")
	case '_':
		r.put("-")
	case '\r', '\n':
		r.state.to.paragraph(r.state.cell)
	case '\t':
		r.put("\t")
	}
}

// optional reads the name of a group that programs skip if they do not know it.
func (r *rtf) optional() {
	rest := r.data[r.at:min(r.at+40, len(r.data))]
	name := strings.TrimLeft(string(rest), " \r\n")
	name, ok := strings.CutPrefix(name, `\`)
	end := strings.IndexFunc(name, func(c rune) bool { return !unicode.IsLetter(c) })
	if end >= 0 {
		name = name[:end]
	}
	switch {
	case !ok:
	case name == "shpinst", name == "shptxt", name == "annotation", name == "footnote", name == "ud", name == "atnauthor", name == "pntext", name == "shppict":
		return
	}
	r.state.into = intoNothing
}

// word obeys a control word.
func (r *rtf) word(word string, n int, given bool) {
	s := &r.state
	on := !given || n != 0
	switch word {
	case "par", "sect":
		if s.into == intoText {
			s.to.paragraph(s.cell && word == "par")
		}
	case "line", "page", "column", "softline", "nestcell":
		r.put("\n")
	case "tab":
		r.put("\t")
	case "cell":
		if s.into == intoText {
			s.to.endCell()
		}
	case "row":
		if s.into == intoText {
			s.to.endRow()
		}
	case "trhdr":
		s.to.headed = s.to.headed || len(s.to.rows) == 0
	case "intbl":
		s.cell = true
	case "pard":
		s.cell = false
	case "plain":
		s.hidden, s.deleted, s.code = false, false, r.page
	case "v":
		s.hidden = on
	case "deleted":
		s.deleted = on
	case "u":
		if given {
			r.unicode(n)
		}
	case "uc":
		s.fallback = min(max(n, 0), 16)
	case "upr":
		s.either = true
	case "ansicpg":
		r.page, s.code = n, n
	case "mac":
		r.page, s.code = 10000, 10000
	case "pc":
		r.page, s.code = 437, 437
	case "pca":
		r.page, s.code = 850, 850
	case "f":
		if s.into == intoFonts {
			r.font = n
		} else if code, ok := r.fonts[n]; ok && code > 0 {
			s.code = code
		} else {
			s.code = r.page
		}
	case "fcharset", "cpg":
		if s.into == intoFonts && len(r.fonts) < maxEntries {
			if r.fonts[r.font] = n; word == "fcharset" {
				r.fonts[r.font] = charsetPage(n)
			}
		}
	default:
		if text, ok := rtfSymbols[word]; ok {
			r.put(text)
			return
		}
		r.destination(word, n)
	}
}

var rtfSymbols = map[string]string{
	"emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•",
	"emspace": " ", "enspace": " ", "qmspace": " ",
}

// destination begins a group whose text is of its own kind.
func (r *rtf) destination(word string, n int) {
	s := &r.state
	if s.into == intoNothing {
		return
	}
	switch word {
	case "fonttbl":
		s.into = intoFonts
	case "listtext", "pntext":
		s.into = intoLabel
	case "atnauthor":
		s.into, r.author = intoAuthor, ""
	case "footnote", "annotation", "shptxt":
		s.to = &rtfTarget{kind: word, author: strings.TrimSpace(r.author), flow: flow{b: r.b}}
		s.into, s.cell = intoText, false
		if word == "annotation" {
			r.author = ""
		}
	case "info":
		s.into, s.field = intoInfo, ""
	case "title", "author", "operator":
		if s.into == intoInfo {
			s.field = word
			r.info[word] = &strings.Builder{}
		}
	case "creatim", "revtim":
		if s.into == intoInfo {
			s.field = word
			r.times[word] = &[5]int{}
		}
	case "yr", "mo", "dy", "hr", "min":
		if t := r.times[s.field]; s.into == intoInfo && t != nil {
			t[map[string]int{"yr": 0, "mo": 1, "dy": 2, "hr": 3, "min": 4}[word]] = n
		}
	case "colortbl", "stylesheet", "listtable", "listoverridetable", "pict", "objdata", "objclass", "fldinst", "nonshppict", "shprslt", "sp",
		"header", "headerl", "headerr", "headerf", "footer", "footerl", "footerr", "footerf", "ftnsep", "ftnsepc", "ftncn", "aftnsep", "aftnsepc",
		"tc", "xe", "rxe", "txe", "private", "xmlnstbl", "rsidtbl", "revtbl", "filetbl", "nextfile", "template", "bkmkstart", "bkmkend", "atnid",
		"subject", "keywords", "doccomm", "company", "manager", "category", "generator":
		s.into = intoNothing
	}
}
