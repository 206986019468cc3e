package pdf

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"

	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/unicode/norm"
)

// The parts of encodings that differ from ASCII or Latin-1. "\x00" is no character.
const (
	// Adobe's standard encoding from 0xA1.
	standardHigh = "¡¢£⁄¥ƒ§¤'“«‹›ﬁﬂ\x00–†‡·\x00¶•‚„”»…‰\x00¿\x00`´ˆ˜¯˘˙¨\x00˚¸\x00˝˛ˇ" +
		"—\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00Æ\x00ª\x00\x00\x00\x00ŁØŒº" +
		"\x00\x00\x00\x00\x00æ\x00\x00\x00ı\x00\x00łøœß"
	// PDF's encoding of document information, from 0x18 and from 0x80.
	docLow  = "˘ˇˆ˙˝˛˚˜"
	docHigh = "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž\x00€"
	// The Symbol font from 0x20 and from 0xA0.
	symbolLow = " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_" +
		"‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼"
	symbolHigh = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓" +
		"◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\x00〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭"
)

// baseEncoding returns the characters of a named encoding. For other names it returns
// Adobe's standard encoding.
func baseEncoding(n name) [256]rune {
	switch n {
	case "WinAnsiEncoding":
		table := runes(charmap.Windows1252)
		for _, hole := range []int{0x7f, 0x81, 0x8d, 0x8f, 0x90, 0x9d} {
			table[hole] = '•'
		}
		return table
	case "MacRomanEncoding":
		return runes(charmap.Macintosh)
	}
	return standardEncoding()
}

func standardEncoding() (table [256]rune) {
	ascii(&table)
	table['\''], table['`'] = '’', '‘'
	place(&table, 0xa1, standardHigh)
	return table
}

func symbolEncoding() (table [256]rune) {
	place(&table, 0x20, symbolLow)
	place(&table, 0xa0, symbolHigh)
	return table
}

// dingbatEncoding is the encoding of ZapfDingbats. Unicode has its signs in nearly the
// same order.
func dingbatEncoding() (table [256]rune) {
	table[' '] = ' '
	for i := 0x21; i <= 0x7e; i++ {
		table[i] = rune(0x2701 + i - 0x21)
	}
	for i := 0xa1; i <= 0xfe; i++ {
		table[i] = rune(0x2761 + i - 0xa1)
	}
	place(&table, 0x6c, "●❍■❏")
	table[0x25], table[0x2a], table[0x2b], table[0x48] = '☎', '☛', '☞', '★'
	return table
}

func ascii(table *[256]rune) {
	for i := 0x20; i < 0x7f; i++ {
		table[i] = rune(i)
	}
}

func place(table *[256]rune, at int, s string) {
	for _, r := range s {
		table[at] = r
		at++
	}
}

// textString reads a text string of the document information or of a property
// list: UTF-16 or UTF-8 if it begins with their mark, else PDF's own encoding.
func textString(s str) string {
	switch {
	case strings.HasPrefix(string(s), "\xfe\xff"):
		return clean(utf16Text(string(s[2:])))
	case strings.HasPrefix(string(s), "\xff\xfe"):
		units := make([]uint16, len(s)/2-1)
		for i := range units {
			units[i] = uint16(s[2*i+2]) | uint16(s[2*i+3])<<8
		}
		return clean(string(utf16.Decode(units)))
	case strings.HasPrefix(string(s), "\xef\xbb\xbf"):
		return clean(string(s[3:]))
	}
	table := runes(charmap.ISO8859_1)
	place(&table, 0x18, docLow)
	place(&table, 0x80, docHigh)
	out := make([]rune, len(s))
	for i := range len(s) {
		out[i] = table[s[i]]
	}
	return clean(string(out))
}

// clean prepares text for a paragraph: it spells out ligatures, makes all spaces plain
// and drops everything that is not a character. It keeps soft hyphens, which show where
// a line breaks a word.
func clean(s string) string {
	plain := true
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var out strings.Builder
	for _, r := range s {
		switch {
		case r == '\t' || r == '\n' || r == '\r' || r == 0xa0 || r >= 0x2000 && r <= 0x200a ||
			r == 0x2028 || r == 0x2029 || r == 0x202f || r == 0x205f || r == 0x3000:
			out.WriteByte(' ')
		case r >= 0xfb00 && r <= 0xfdff, r >= 0xfe70 && r <= 0xfefc: // ligatures and Arabic forms
			out.WriteString(norm.NFKC.String(string(r)))
		case r >= 0xff10 && r <= 0xff5a && (unicode.IsLetter(r) || unicode.IsDigit(r)): // wide letters
			out.WriteRune(r - 0xfee0)
		case r == 0xf0b7 || r == 0xf0a7: // the bullets of Symbol and Wingdings
			out.WriteRune('•')
		case r >= 0xf020 && r <= 0xf07e: // a symbolic font of ASCII
			out.WriteRune(r - 0xf000)
		case r < ' ', r >= 0x7f && r < 0xa0, r == 0xfffd, r == 0xfeff, r >= 0xe000 && r <= 0xf8ff,
			r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f,
			r >= 0xf0000, r >= 0xfff0 && r <= 0xffff:
		default:
			out.WriteRune(r)
		}
	}
	return out.String()
}

// glyphTable lists glyph names, each followed by its characters. accents covers letters
// with accents.
const glyphTable = `
exclam ! quotedbl " numbersign # dollar $ percent % ampersand & quotesingle ' parenleft ( parenright ) asterisk *
plus + comma , hyphen - period . slash / zero 0 one 1 two 2 three 3 four 4 five 5 six 6 seven 7 eight 8 nine 9
colon : semicolon ; less < equal = greater > question ? at @ bracketleft [ backslash \ bracketright ] asciicircum ^
underscore _ grave ` + "`" + ` braceleft { bar | braceright } asciitilde ~
exclamdown ¡ cent ¢ sterling £ currency ¤ yen ¥ brokenbar ¦ section § dieresis ¨ copyright © ordfeminine ª
guillemotleft « guillemotright » guillemetleft « guillemetright » logicalnot ¬ registered ® macron ¯ overscore ¯
degree ° plusminus ± twosuperior ² threesuperior ³ acute ´ mu µ mu1 µ paragraph ¶ periodcentered · middot ·
cedilla ¸ onesuperior ¹ ordmasculine º onequarter ¼ onehalf ½ threequarters ¾ questiondown ¿ multiply × divide ÷
AE Æ ae æ Eth Ð eth ð Oslash Ø oslash ø Thorn Þ thorn þ germandbls ß Germandbls ẞ Dcroat Đ dcroat đ Dslash Đ
Hbar Ħ hbar ħ dotlessi ı dotlessj ȷ IJ Ĳ ij ĳ kgreenlandic ĸ Ldot Ŀ ldot ŀ Lslash Ł lslash ł napostrophe ŉ
Eng Ŋ eng ŋ OE Œ oe œ Tbar Ŧ tbar ŧ longs ſ florin ƒ Schwa Ə schwa ə
circumflex ˆ caron ˇ breve ˘ dotaccent ˙ ring ˚ ogonek ˛ tilde ˜ hungarumlaut ˝
ff ﬀ fi ﬁ fl ﬂ ffi ﬃ ffl ﬄ st ﬆ f_f ﬀ f_i ﬁ f_l ﬂ f_f_i ﬃ f_f_l ﬄ
endash – emdash — horizontalbar ― quoteleft ‘ quoteright ’ quotesinglbase ‚ quotereversed ‛ quotedblleft “
quotedblright ” quotedblbase „ dagger † daggerdbl ‡ bullet • ellipsis … onedotenleader ․ perthousand ‰ minute ′
second ″ guilsinglleft ‹ guilsinglright › exclamdbl ‼ fraction ⁄ underscoredbl ‗ Euro € euro € lira ₤ peseta ₧
franc ₣ trademark ™ numero № estimated ℮ afii61352 № afii61289 ℓ weierstrass ℘ Ifraktur ℑ Rfraktur ℜ aleph ℵ
onethird ⅓ twothirds ⅔ oneeighth ⅛ threeeighths ⅜ fiveeighths ⅝ seveneighths ⅞ ohm Ω
arrowleft ← arrowup ↑ arrowright → arrowdown ↓ arrowboth ↔ arrowupdn ↕ carriagereturn ↵ arrowdblleft ⇐
arrowdblup ⇑ arrowdblright ⇒ arrowdbldown ⇓ arrowdblboth ⇔ mapsto ↦
universal ∀ partialdiff ∂ existential ∃ emptyset ∅ increment ∆ gradient ∇ element ∈ notelement ∉ suchthat ∋
product ∏ summation ∑ minus − asteriskmath ∗ bulletoperator ∙ radical √ proportional ∝ infinity ∞ orthogonal ∟
angle ∠ logicaland ∧ logicalor ∨ intersection ∩ union ∪ integral ∫ therefore ∴ similar ∼ congruent ≅ approxequal ≈
notequal ≠ equivalence ≡ lessequal ≤ greaterequal ≥ propersubset ⊂ propersuperset ⊃ notsubset ⊄ reflexsubset ⊆
reflexsuperset ⊇ circleplus ⊕ circlemultiply ⊗ perpendicular ⊥ dotmath ⋅ angleleft 〈 angleright 〉 periodinferior .
braceleftbig { bracerightbig } parenleftbig ( parenrightbig ) bracketleftbig [ bracketrightbig ]
nabla ∇ negationslash ̸ openbullet ◦ visiblespace ␣ perthousandzero ‱ asteriskcentered ∗ diamondmath ⋄ minusplus ∓
filledbox ■ square □ H22073 □ H18543 ▪ H18551 ▫ filledrect ▬ triagup ▲ triagrt ► triagdn ▼ triaglf ◄ lozenge ◊
circle ○ H18533 ● invbullet ◘ invcircle ◙ openbullet ◦ smileface ☺ invsmileface ☻ sun ☼ female ♀ male ♂ spade ♠
club ♣ heart ♥ diamond ♦ musicalnote ♪ musicalnotedbl ♫ checkmark ✓ commaaccent ̦
Alpha Α Beta Β Gamma Γ Delta Δ Epsilon Ε Zeta Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Omicron Ο
Pi Π Rho Ρ Sigma Σ Tau Τ Upsilon Υ Upsilon1 ϒ Phi Φ Chi Χ Psi Ψ Omega Ω alpha α beta β gamma γ delta δ epsilon ε
epsilon1 ϵ zeta ζ eta η theta θ theta1 ϑ iota ι kappa κ lambda λ nu ν xi ξ omicron ο pi π omega1 ϖ rho ρ rho1 ϱ
sigma1 ς sigma σ tau τ upsilon υ phi φ phi1 ϕ chi χ psi ψ omega ω tonos ΄ dieresistonos ΅ anoteleia ·
afii10023 Ё afii10051 Ђ afii10052 Ѓ afii10053 Є afii10054 Ѕ afii10055 І afii10056 Ї afii10057 Ј afii10058 Љ
afii10059 Њ afii10060 Ћ afii10061 Ќ afii10062 Ў afii10145 Џ afii10050 Ґ afii10071 ё afii10099 ђ afii10100 ѓ
afii10101 є afii10102 ѕ afii10103 і afii10104 ї afii10105 ј afii10106 љ afii10107 њ afii10108 ћ afii10109 ќ
afii10110 ў afii10193 џ afii10098 ґ afii00208 ― afii08941 ₤
`

// accents are the ends of glyph names like "eacute", with the marks that they add to
// the letter before.
const accents = `
grave ̀ acute ́ circumflex ̂ tilde ̃ dieresis ̈ ring ̊ caron ̌ cedilla ̧ ogonek ̨ macron ̄ breve ̆ dotaccent ̇ dot ̇
hungarumlaut ̋ commaaccent ̧ dotbelow ̣ hookabove ̉ horn ̛ tonos ́ dieresistonos ̈́`

// pairTable reads a list of names and what they stand for.
func pairTable(s string) map[string]string {
	fields := strings.Fields(s)
	m := make(map[string]string, len(fields)/2)
	for i := 0; i+1 < len(fields); i += 2 {
		m[fields[i]] = fields[i+1]
	}
	return m
}

var (
	glyphs = sync.OnceValue(func() map[string]string { return pairTable(glyphTable) })
	marks  = sync.OnceValue(func() map[string]string { return pairTable(accents) })
)

// glyphText returns the characters of a glyph's name, "" if they are unknown.
func glyphText(glyph string) string {
	glyph, _, _ = strings.Cut(glyph, ".") // what follows is a variant: "a.sc"
	if len(glyph) == 1 && glyph[0] > ' ' && glyph[0] < 0x7f {
		return glyph
	}
	switch glyph {
	case "space", "nbspace", "nonbreakingspace", "spacehackarabic":
		return " "
	case "softhyphen", "sfthyphen", "hyphenminus":
		return "-"
	case "Scommaaccent", "Tcommaaccent", "scommaaccent", "tcommaaccent":
		return norm.NFC.String(glyph[:1] + "\u0326")
	}
	if s, ok := glyphs()[glyph]; ok {
		return s
	}
	if s := unicodeName(glyph); s != "" {
		return s
	}
	if s := accented(glyph); s != "" {
		return s
	}
	if n, ok := strings.CutPrefix(glyph, "afii"); ok {
		return afii(n)
	}
	if parts := strings.Split(glyph, "_"); len(parts) > 1 && len(parts) < 8 {
		var all string
		for _, part := range parts {
			if part == "" || strings.Contains(part, "_") {
				return ""
			}
			all += glyphText(part)
		}
		return all
	}
	return ""
}

// unicodeName reads "uni20AC", "uni00660069" and "u1F600".
func unicodeName(glyph string) string {
	if digits, ok := strings.CutPrefix(glyph, "uni"); ok && len(digits) >= 4 && len(digits)%4 == 0 && len(digits) <= 32 {
		var all []rune
		for ; len(digits) > 0; digits = digits[4:] {
			v, err := strconv.ParseUint(digits[:4], 16, 16)
			if err != nil {
				return ""
			}
			all = append(all, rune(v))
		}
		return string(all)
	}
	if digits, ok := strings.CutPrefix(glyph, "u"); ok && len(digits) >= 4 && len(digits) <= 6 {
		if v, err := strconv.ParseUint(digits, 16, 32); err == nil && v <= unicode.MaxRune {
			return string(rune(v))
		}
	}
	return ""
}

// accented reads the name of a letter followed by that of an accent.
func accented(glyph string) string {
	for at := 1; at < len(glyph); at++ {
		mark, ok := marks()[glyph[at:]]
		if !ok {
			continue
		}
		base := glyph[:at]
		if at > 1 {
			if base, ok = glyphs()[base]; !ok {
				return ""
			}
		}
		if r := norm.NFC.String(base + mark); len([]rune(r)) == 1 {
			return r
		}
	}
	return ""
}

// afii reads the numbers of Cyrillic and Hebrew letters.
func afii(digits string) string {
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil:
	case n >= 10017 && n <= 10049:
		return string(cyrillic('А', n-10017))
	case n >= 10065 && n <= 10097:
		return string(cyrillic('а', n-10065))
	case n >= 57664 && n <= 57690:
		return string(rune('א' + n - 57664))
	}
	return ""
}

// cyrillic counts from a letter. The seventh, with two dots, is elsewhere in Unicode
// and has an entry of its own.
func cyrillic(first rune, n int) rune {
	if n > 6 {
		n--
	}
	return first + rune(n)
}
