package pdf

import "bytes"

// builtIn gives what the codes of an embedded font mean by the font's own
// account, where that differs from Adobe's standard encoding.
func (f *file) builtIn(descriptor dict) map[int]string {
	if s := f.stream(descriptor["FontFile"]); s != nil {
		return type1Encoding(f.decode(s))
	}
	if s := f.stream(descriptor["FontFile3"]); s != nil {
		return cffEncoding(f.decode(s))
	}
	return nil
}

// type1Encoding reads the encoding in the clear part of a Type 1 font: lines
// like "dup 12 /fi put".
func type1Encoding(font []byte) map[int]string {
	from := bytes.Index(font, []byte("/Encoding"))
	if from < 0 {
		return nil
	}
	l := lexer{data: font, pos: from + len("/Encoding")}
	if l.token() == word("StandardEncoding") {
		return nil
	}
	texts := map[int]string{}
	for {
		switch l.token() {
		case word("dup"):
			code, ok1 := l.token().(int)
			glyph, ok2 := l.token().(name)
			if ok1 && ok2 && code >= 0 && code < 256 {
				texts[code] = differing(glyph, code)
			}
		case word("def"), word("readonly"), word("eexec"), end:
			return texts
		}
	}
}
