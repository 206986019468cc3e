package pdf

import (
	"strconv"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// glyphTable lists names of glyphs, each with its characters behind it. What is
// made of a letter and an accent is not here: accents has it.
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

// accents are the ends of glyph names like "eacute", with the marks that they
// put on the letter before.
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

// glyphText gives the characters that a glyph's name stands for, "" if it does
// not tell.
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

// accented reads a letter's name with an accent's behind it.
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

// afii reads the numbers that Cyrillic and Hebrew letters go by.
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

// cyrillic counts from a letter on; the seventh, with two dots, is elsewhere in
// Unicode and has an entry of its own.
func cyrillic(first rune, n int) rune {
	if n > 6 {
		n--
	}
	return first + rune(n)
}
