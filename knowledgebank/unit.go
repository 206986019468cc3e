package knowledgebank

import (
	"context"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unit is text that is never split: a sentence, as a rule. A document may have
// millions.
type unit struct {
	text  string
	joint string // between it and the unit before, in one chunk
	by    *voice // nil: nobody says it, in the main text
	size  int32  // in half words
	price int16  // of a cut behind it
	turn  bool   // the speaker begins here
}

// voice is the part of the document, and who speaks in a transcript, and when.
type voice struct{ part, speaker, at string }

// in is the part of the document.
func (v *voice) in() string {
	if v == nil {
		return ""
	}
	return v.part
}

// place is the part and the minute, as a chunk names them.
func (v *voice) place() string {
	switch {
	case v == nil:
		return ""
	case v.part == "":
		return minute(v.at)
	case minute(v.at) == "":
		return v.part
	}
	return v.part + ", " + minute(v.at)
}

// The prices of cuts. chance adds up to 1023 to each.
const (
	paragraphEnd = 0
	lineEnd      = 250
	sentenceEnd  = 350
	wrapEnd      = 1400 // a line that continues in the next
	headingEnd   = 1700 // behind text that belongs to the next line
	clauseEnd    = 1900
	wordEnd      = 2700
	tokenEnd     = 6000
)

const (
	maxSpeaker   = 80  // characters
	headingWords = 12  // at most
	wrapFrom     = 50  // least characters of a wrapped line
	wrapTo       = 110 // and most
)

var bullet = regexp.MustCompile(`^([-*•◦‣–—+>|#]|\(?[0-9]{1,3}[.)]|\(?[A-Za-z][.)])(\s|$)`)

// units splits a source's text. After ctx ends, the result is useless.
func units(ctx context.Context, s *Source) []unit {
	var out []unit
	var turn *Block
	var part *voice // of the text that nobody says
	for i := range s.Blocks {
		if ended(ctx, i) {
			return nil
		}
		b := s.Blocks[i]
		b.Text, b.Speaker = clean(b.Text), strings.TrimRight(bounded(squeeze(clean(b.Speaker)), maxSpeaker), ": ")
		if !hasWords(b.Text) {
			continue // a rule, a lone bullet
		}
		if b.Speaker == "" && s.Format != "transcript" {
			turn = nil
			from := len(out)
			out = append(out, paragraph(ctx, b.Text, i+1 < len(s.Blocks))...)
			if b.Part = line(b.Part); b.Part != part.in() {
				part = &voice{part: b.Part}
			}
			for j := from; b.Part != "" && j < len(out); j++ {
				out[j].by = part
			}
			continue
		}
		goes := turn != nil && turn.Speaker == b.Speaker
		said := spoken(&b, goes)
		if goes && len(out) > 0 && len(said) > 0 {
			last := &out[len(out)-1]
			last.price = sentenceEnd
			if !complete(last.text) {
				last.price = wrapEnd
			}
		}
		out = append(out, said...)
		if len(said) > 0 {
			turn = &b
		}
	}
	return out
}

// spoken returns the sentences of a turn. goes: the turn continues an earlier one.
func spoken(b *Block, goes bool) []unit {
	out, by := cutLine(squeeze(b.Text), "\n", paragraphEnd), &voice{line(b.Part), b.Speaker, b.At}
	for i := range out {
		out[i].by = by
	}
	switch {
	case len(out) == 0:
	case goes:
		out[0].joint = " "
	default:
		out[0].turn = true
		out[0].size += int32(size(b.Speaker))
	}
	return out
}

// paragraph returns the sentences of a paragraph. more: another paragraph follows.
func paragraph(ctx context.Context, text string, more bool) []unit {
	lines := unwrap(ctx, text)
	var out []unit
	for i, l := range lines {
		if ended(ctx, i) {
			return nil
		}
		price := int16(lineEnd)
		last := i+1 == len(lines)
		switch {
		case strings.HasSuffix(l, ":") || strings.HasSuffix(l, "："):
			price = headingEnd
		case last && len(lines) == 1 && more && isHeading(l):
			price = headingEnd
		case last:
			price = paragraphEnd
		case wrapped(l) && !bullet.MatchString(lines[i+1]):
			price = wrapEnd
		}
		out = append(out, cutLine(l, "\n", price)...)
	}
	return out
}

func isHeading(l string) bool {
	return !complete(l) && !bullet.MatchString(l) && size(l) <= 2*headingWords
}

// cutLine returns the sentences of a line. end is the price of a cut behind it.
func cutLine(l, joint string, end int16) []unit {
	var out []unit
	last := 0
	for _, s := range sentences(l) {
		u := unit{text: l[s.start:s.end], joint: l[last:s.start], price: sentenceEnd}
		if len(out) == 0 {
			u.joint = joint
		}
		u.size = int32(size(u.text))
		out = append(out, u)
		last = s.end
	}
	if len(out) > 0 {
		out[len(out)-1].price = end
	}
	return out
}

// unwrap returns a text's lines without line breaks that only keep lines short.
func unwrap(ctx context.Context, text string) []string {
	var out, here []string // here: the parts of the next line
	flush := func() {
		if len(here) > 0 {
			out = append(out, strings.Join(here, ""))
			here = here[:0]
		}
	}
	last := "" // the line before, as it was
	n := 0
	for l := range strings.SplitSeq(text, "\n") {
		if n++; ended(ctx, n) {
			return nil
		}
		l = squeeze(l)
		if !hasWords(l) {
			last = ""
			continue
		}
		joint, goes := goesOn(last, l)
		if goes {
			here = append(here, joint)
		} else {
			flush()
		}
		here = append(here, l)
		last = l
	}
	flush()
	return out
}

// goesOn reports whether a line surely continues the one before it.
func goesOn(last, l string) (joint string, goes bool) {
	first, _ := utf8.DecodeRuneInString(l)
	end, _ := utf8.DecodeLastRuneInString(last)
	switch {
	case last == "" || bullet.MatchString(l):
		return "", false
	case isWide(first) && isWide(end):
		return "", !complete(last) && size(last) >= wrapFrom/2
	}
	return " ", wrapped(last) && unicode.IsLower(first)
}

// wrapped reports whether a line looks as if it continued in the next.
func wrapped(l string) bool {
	n := utf8.RuneCountInString(l)
	return n >= wrapFrom && n <= wrapTo && !complete(l) && !strings.HasSuffix(l, ":") && strings.Contains(l, " ")
}
