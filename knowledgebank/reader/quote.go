package reader

import (
	"context"
	"regexp"
	"strings"

	"github.com/percached/percached/knowledgebank"
)

// cause is why a passage is in a mail.
type cause uint8

const (
	byWriter cause = iota
	byReply
	byForward
)

// passage is a part of a mail that one person wrote.
type passage struct {
	cause cause
	about string // who wrote a quoted or forwarded passage, when, and the subject
	lines []string
}

// writerBlocks returns the blocks that a mail's writer wrote. It drops what a reply quotes. It
// keeps what a forward carries, and a quote if there is nothing else. After ctx ends,
// its result is useless, as are those of all functions that it calls.
func writerBlocks(ctx context.Context, w mailText, forward bool, subject string) []knowledgebank.Block {
	lines := strings.Split(strings.TrimRight(w.text, "\n "), "\n")
	if w.flow {
		lines = reflow(lines, w.tight)
	}
	all := passages(ctx, lines, w.first)
	forward = forward || len(all) > 1 && (all[1].cause == byForward || nothingMuch(ctx, all[0].lines) || answersBelow(ctx, all[0].lines))
	quotes := !w.first || w.html || len(all) > 1 || !introduced(ctx, lines)
	var blocks []knowledgebank.Block
	if !forward {
		blocks = passageBlocks(ctx, all[:1], !quotes, w.html, subject)
	}
	if len(blocks) == 0 {
		// Marked lines count now, and may hold forwarded mail in turn.
		all = passages(ctx, unmark(lines), w.first)
		if forward || len(all) == 1 {
			blocks = passageBlocks(ctx, all, true, w.html, subject)
		} else if blocks = passageBlocks(ctx, all[:2], true, w.html, subject); len(blocks) == 0 {
			blocks = passageBlocks(ctx, all, true, w.html, subject)
		}
	}
	return append(blocks, w.mails...)
}

// passageBlocks makes blocks of passages. Unless quoted is set, it drops marked lines.
func passageBlocks(ctx context.Context, all []passage, quoted, html bool, subject string) []knowledgebank.Block {
	var out []knowledgebank.Block
	for i, p := range all {
		if ended(ctx, i) {
			break
		}
		lines := p.lines
		if !quoted {
			lines = unquoted(ctx, lines)
		}
		blocks := blocksOf(ctx, withoutSignature(ctx, lines), html)
		if p.about != "" && len(blocks) > 0 {
			about := strings.TrimSuffix(p.about, ": "+bareSubject(subject))
			out = append(out, knowledgebank.Block{Text: about})
		}
		out = append(out, blocks...)
	}
	return out
}

func blocksOf(ctx context.Context, lines []string, html bool) []knowledgebank.Block {
	text := strings.Join(lines, "\n")
	if !html {
		text = unwrap(ctx, lines)
	}
	out := paragraphs(ctx, text)
	for _, b := range out {
		if !wordless(b.Text) {
			return out
		}
	}
	return nil
}

// passages splits a mail where another person's words begin.
func passages(ctx context.Context, lines []string, first bool) []passage {
	all := []passage{{}}
	for i := 0; i < len(lines); {
		if ended(ctx, i) {
			break
		}
		here := &all[len(all)-1]
		b, ok := breakAt(lines, i, first)
		if !ok {
			here.lines = append(here.lines, lines[i])
			i++
			continue
		}
		here.lines = here.lines[:max(0, len(here.lines)-b.back)]
		all = append(all, passage{cause: b.cause, about: b.about})
		i = b.next
	}
	return all
}

// marked reports whether a line has the mark of a quote.
func marked(l string) bool {
	l = strings.TrimLeft(l, " ")
	return strings.HasPrefix(l, ">") && !strings.HasPrefix(l, ">From ")
}

// unmark removes the marks and keeps the words.
func unmark(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		for marked(l) {
			l = strings.TrimLeft(l, " ")[1:]
		}
		if l != lines[i] {
			l = strings.TrimPrefix(l, " ")
		}
		out[i] = l
	}
	return out
}

// unquoted drops marked lines, and the line above them that names their writer.
func unquoted(ctx context.Context, lines []string) []string {
	var out []string
	blank := func() {
		if n := len(out); n > 0 && out[n-1] != "" {
			out = append(out, "")
		}
	}
	for i, l := range lines {
		if ended(ctx, i) {
			break
		}
		switch {
		case strings.TrimSpace(l) == "":
			blank()
		case !marked(l):
			out = append(out, l)
		case i == 0 || !marked(lines[i-1]):
			out = unattributed(out)
			blank()
		}
	}
	return out
}

// introduced reports whether marked lines are the writer's own, such as commands or a
// passage from a book. Each run of them follows a line that ends in a colon, and none
// has an attribution or a header.
func introduced(ctx context.Context, lines []string) bool {
	before := ""
	for i, l := range lines {
		switch {
		case ended(ctx, i):
			return false
		case strings.TrimSpace(l) == "":
			continue
		case marked(l) && !marked(before) && !strings.HasSuffix(strings.TrimSpace(before), ":"), isAttribution(l):
			return false
		}
		before = l
	}
	return len(passages(ctx, unmark(lines), true)) == 1
}

// unattributed removes an attribution of up to three lines from the end: "On Monday Ana
// wrote:".
func unattributed(lines []string) []string {
	end := len(lines)
	for end > 0 && strings.TrimSpace(lines[end-1]) == "" {
		end--
	}
	if end == 0 || !isAttribution(lines[end-1]) {
		return lines
	}
	for n := 1; n <= 3 && n <= end && strings.TrimSpace(lines[end-n]) != ""; n++ {
		if wroteStart.MatchString(strings.Join(lines[end-n:end], " ")) {
			return lines[:end-n]
		}
	}
	return lines[:end-1]
}

// nothingMuch reports whether the writer only passes something on.
func nothingMuch(ctx context.Context, lines []string) bool {
	if filled(lines) > 20 {
		return false
	}
	text := strings.ToLower(strings.Trim(strings.Join(strings.Fields(strings.Join(withoutSignature(ctx, unquoted(ctx, lines)), " ")), " "), " .!-:,"))
	switch text {
	case "fyi", "for your information", "see below", "please see below", "see attached", "please see attached", "f.y.i",
		"zur info", "zur information", "zk", "z.k", "siehe unten", "pour info", "pour information", "para su información",
		"ter info", "ter informatie", "per conoscenza", "til info":
		return true
	}
	return false
}

var below = regexp.MustCompile(`(?i)\bin-?line\b|\b(answers?|comments?|repl(y|ies)|responses?|remarks|notes)\b.{0,30}\b(below|in (red|blue|green|bold|caps|capitals))\b|\b(antworten|kommentare|anmerkungen)\b.{0,30}\b(unten|im text|rot|blau)\b|\bréponses\b.{0,30}\bci-dessous\b`)

// answersBelow reports whether the writer answers between the lines of the quote, where
// no mark shows who wrote which line.
func answersBelow(ctx context.Context, lines []string) bool {
	text := strings.Join(withoutSignature(ctx, unquoted(ctx, lines)), " ")
	return len(text) < 1000 && below.MatchString(text)
}

// reflow joins the lines of a format=flowed text.
func reflow(lines []string, tight bool) []string {
	var out, here []string // here: the parts of the next line
	open := false
	for i, l := range lines {
		if !marked(l) {
			l = strings.TrimPrefix(l, " ") // space-stuffed
		}
		if i > 0 && !(open && !marked(l) && l != "-- " && strings.TrimSpace(l) != "") {
			out = append(out, strings.Join(here, ""))
			here = here[:0]
		}
		open = strings.HasSuffix(l, " ") && l != "-- " && strings.TrimSpace(l) != "" && !marked(l)
		if open && tight {
			l = l[:len(l)-1]
		}
		here = append(here, l)
	}
	return append(out, strings.Join(here, ""))
}
