package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
)

// Markdown writes it as a page, with the figures beside it in their folder.
func (r *Report) Markdown(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Evaluation of percached on %s, %s\n\n", safe(r.Header.Dataset), r.Header.Began.Format("2006-01-02"))
	list(&b, r.Header.facts())
	fmt.Fprint(&b, "\n## Headline\n\n")
	list(&b, r.Headline.Words)
	if troubles := r.troubles(); len(troubles) > 0 {
		fmt.Fprint(&b, "\n## What did not go well\n\n")
		list(&b, troubles)
	}
	for _, t := range r.tables() {
		if t.shown() {
			t.markdown(&b)
			if t.name == "one_question" {
				r.Walk.quoted(&b)
			}
		}
	}
	fmt.Fprint(&b, "\n## Figures\n")
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "\n### %s\n\n![%s](%s/%s.svg)\n", safe(f.Title), safe(f.Title), figuresFolder, f.ID)
		var caption []string
		if f.Paper != "" {
			caption = append(caption, "The paper: "+f.Paper+".")
		}
		if f.Note != "" {
			caption = append(caption, f.Note)
		}
		if len(caption) > 0 {
			fmt.Fprintf(&b, "\n%s\n", safe(strings.Join(caption, " ")))
		}
	}
	if len(r.NoFigures) > 0 {
		fmt.Fprint(&b, "\nThere is no figure of:\n\n")
		list(&b, r.NoFigures)
	}
	fmt.Fprint(&b, "\n## How to read the numbers\n\n")
	list(&b, r.Notes)
	fmt.Fprint(&b, "\n## Systems\n\n")
	for i := range r.Systems {
		fmt.Fprintf(&b, "- %s: %s\n", safe(r.Systems[i].Name), safe(r.Systems[i].About))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// safe keeps what others wrote from being read as Markdown.
func safe(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", "`", "'", "*", `\*`, "_", `\_`, "[", `\[`).Replace(s)
}

func list(b *bytes.Buffer, lines []string) {
	for _, l := range lines {
		fmt.Fprintf(b, "- %s\n", safe(l))
	}
}

func (t *table) markdown(b *bytes.Buffer) {
	fmt.Fprintf(b, "\n## %s\n\n", safe(t.title))
	for i, line := range t.page() {
		for _, c := range line {
			fmt.Fprintf(b, "| %s ", safe(c))
		}
		fmt.Fprintln(b, "|")
		if i == 0 {
			fmt.Fprintf(b, "|%s\n", strings.Repeat("---|", len(line)))
		}
	}
	if t.note != "" {
		fmt.Fprintf(b, "\n%s\n", safe(t.note))
	}
}

// quoted has the texts of the question, if they are wanted.
func (w *Walk) quoted(b *bytes.Buffer) {
	if w.Question == "" {
		return
	}
	fmt.Fprintf(b, "\n> %s\n\n", safe(w.Question))
	if w.Gold != "" {
		fmt.Fprintf(b, "- right: %s\n", safe(w.Gold))
	}
	for i := range w.Steps {
		fmt.Fprintf(b, "- %s: %s\n", safe(w.Steps[i].System), safe(w.Steps[i].Answer))
	}
}

// troubles say what did not go well; the tables and report.json name all of it.
func (r *Report) troubles() (said []string) {
	h := &r.Header
	line := func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	some(line, "not asked yet", h.Undone)
	some(line, "not in the results", h.Absent)
	if n := len(h.Failures); n > 0 {
		line("%s failed, and the table of failures names them; what failed counts as wrong.", many(n, "asking"))
	}
	for i := range r.Systems {
		s := &r.Systems[i]
		if c := s.All.Check; c != nil && c.Differ > 0 && s.Name != wholePrompt {
			line("%s computed %d of %d answers with another text than %s: that must not be.", s.Name, c.Differ, c.Compared, s.Reference)
		}
	}
	var unread []string
	for _, u := range h.Unread {
		unread = append(unread, fmt.Sprintf("%s of %s: %s", u.Name, u.User, u.Reason))
	}
	some(line, "not taken in", unread)
	for _, reason := range sortedKeys(h.LeftOut) {
		line("%d parts of documents were left out: %s", h.LeftOut[reason], reason)
	}
	var skipped []string
	for _, s := range h.Skipped {
		skipped = append(skipped, s.Where+": "+s.Reason)
	}
	some(line, "skipped", skipped)
	for _, name := range sortedKeys(h.PassedOver) {
		line("passed over: the field %q, %d times", name, h.PassedOver[name])
	}
	return said
}

// some tells the first of many things.
func some(line func(string, ...any), what string, all []string) {
	for i, one := range all {
		if i == maxNamed {
			line("%s: and %d more; report.json has all", what, len(all)-i)
			return
		}
		line("%s: %s", what, one)
	}
}
