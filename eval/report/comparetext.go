package report

import (
	"bytes"
	"fmt"
	"io"
)

// JSON writes it for programs.
func (c *Comparison) JSON(w io.Writer) error { return toJSON(w, c) }

// Text writes it for people at a terminal.
func (c *Comparison) Text(w io.Writer) error {
	var b bytes.Buffer
	if len(c.Apart) > 0 {
		fmt.Fprintln(&b, "The runs differ, so that nothing is tested; they stand side by side.")
		for _, l := range c.Apart {
			fmt.Fprintf(&b, "  %s\n", l)
		}
		fmt.Fprintln(&b)
	}
	t := &table{columns: []column{
		plain("system", ""), plain("measure", ""), plain("questions", ""), plain("A", ""), plain("B", ""), plain("B less A", ""), plain("95 %", ""), plain("p", ""), plain("", ""),
	}}
	if c.Tested {
		t.columns[8].head = "they"
	} else {
		t.columns[6].head, t.columns[7].head = "", ""
	}
	for i := range c.Systems {
		s := &c.Systems[i]
		for _, m := range s.Measures {
			digits := 4
			if m.Name == "latency_ms" || m.Name == "first_token_ms" {
				digits = 2
			}
			interval, p, differ := words(none), words(none), words(none)
			if m.Test != nil {
				interval = words(fixed(m.Test.Low, digits) + " to " + fixed(m.Test.High, digits))
				p, differ = decimal(m.Test.P, 4), words(choose(m.Test.Differ, "differ", "do not show a difference"))
			}
			t.add(false, words(s.words()), words(m.Name), count(m.Pairs), decimal(m.A, digits), decimal(m.B, digits), decimal(m.Diff, digits), interval, p, differ)
		}
	}
	t.text(&b)
	for i := range c.Systems {
		s := &c.Systems[i]
		if s.FailedA+s.FailedB > 0 {
			fmt.Fprintf(&b, "%s: %d askings failed in A, %d in B.\n", s.words(), s.FailedA, s.FailedB)
		}
		if s.OnlyA+s.OnlyB > 0 {
			fmt.Fprintf(&b, "%s: %s asked in A alone, %d in B alone; they are left out.\n", s.words(), many(s.OnlyA, "question")+choose(s.OnlyA == 1, " was", " were"), s.OnlyB)
		}
	}
	for _, name := range c.OnlyA {
		fmt.Fprintf(&b, "%s: only in A\n", name)
	}
	for _, name := range c.OnlyB {
		fmt.Fprintf(&b, "%s: only in B\n", name)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// words name what is compared.
func (p *Pair) words() string {
	if p.A == p.B {
		return p.A
	}
	return p.A + " and " + p.B
}
