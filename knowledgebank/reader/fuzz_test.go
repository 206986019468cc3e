package reader

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
)

// seed adds the invented files whose names match a pattern.
func seed(f *testing.F, pattern string) {
	f.Helper()
	names, err := filepath.Glob("testdata/in/" + pattern)
	if err != nil || len(names) == 0 {
		f.Fatal(pattern, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
}

// fileOf is a file whose parsers are called without the guard against panics.
func fileOf(t testing.TB, name string) *file {
	return &file{Reader: newReader(t, Default()), name: name, base: name, id: name}
}

func whole(t *testing.T, s *knowledgebank.Source, err error) {
	t.Helper()
	switch {
	case err != nil:
		if k := fault.KindOf(err); k != fault.Invalid && k != fault.Unsupported {
			t.Errorf("%v is %v", err, k)
		}
	case len(s.Blocks) > 0:
		fit(t, s)
	}
}

func FuzzMail(f *testing.F) {
	seed(f, "*.eml")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := fileOf(t, "a.eml").parseMail(context.Background(), data, "From ana@example.com Mon Feb  3 09:12:40 2025")
		whole(t, s, err)
	})
}

// From any mailbox, no byte is lost except separators, marks and the blank lines
// between mails, and no mail exceeds the limit.
func FuzzMailbox(f *testing.F) {
	seed(f, "box*")
	f.Add([]byte("\n\nFrom a\nFrom b\n\nFrom a Mon Feb  3 09:12:40 2025\n\nFrom b Mon Feb  3 09:12:40 2025"))
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 200
		box := &mailbox{in: bufio.NewReaderSize(bytes.NewReader(data), 300), limit: limit, grow: func(int) error { return nil }}
		kept, marks, skipped := 0, 0, false
		for n := 0; ; n++ {
			if n > len(data)+1 {
				t.Fatal("more mails than bytes")
			}
			mail, err := box.next()
			if errors.Is(err, errLarge) {
				skipped = true
				continue
			}
			if err != nil {
				break
			}
			if len(mail.data) > limit+2 {
				t.Errorf("a mail of %d bytes", len(mail.data))
			}
			kept += len(mail.data) + len(mail.separator)
			marks += 6 // a blank line and two line ends
		}
		quotes := bytes.Count(data, []byte(">From "))
		if begin := len(data) - len(bytes.TrimLeft(data, "\r\n")); !skipped && kept+marks+quotes+begin+5 < len(data) {
			t.Errorf("%d of %d bytes came through", kept, len(data))
		}
	})
}

func FuzzWeb(f *testing.F) {
	seed(f, "*.htm*")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := fileOf(t, "a.html").note(t.Context(), formatOf(htmlKind), data, "")
		whole(t, s, err)
		fitText(t, htmlText(t.Context(), string(data), true).text)
	})
}

func FuzzTranscript(f *testing.F) {
	seed(f, "*.vtt")
	seed(f, "*.[sS][rR][tT]")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := fileOf(t, "2025-03-20-a.vtt").note(t.Context(), formatOf(vttKind), data, "")
		whole(t, s, err)
		if err != nil {
			return
		}
		for _, b := range s.Blocks {
			if len(b.At) < len("00:00:00") {
				t.Errorf("at %q", b.At)
			}
		}
	})
}

func FuzzMarkdown(f *testing.F) {
	seed(f, "*.md")
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := fileOf(t, "a.md").note(t.Context(), formatOf(markdownKind), data, "")
		whole(t, s, err)
	})
}

func FuzzObject(f *testing.F) {
	seed(f, "*.json*")
	f.Fuzz(func(t *testing.T, data []byte) {
		for l := range bytes.Lines(data) {
			s, err := fileOf(t, "a.jsonl").jsonObject(context.Background(), bytes.TrimSpace(l))
			whole(t, s, err)
		}
	})
}

// Any file yields documents or reasons, and no parser panics.
func FuzzStream(f *testing.F) {
	seed(f, "*")
	f.Fuzz(func(t *testing.T, data []byte) {
		r := newReader(t, Default())
		n := 0
		err := r.Stream(context.Background(), "a", bytes.NewReader(data), func(s *knowledgebank.Source) error {
			n++
			fit(t, s)
			return nil
		}, func(_ string, err error) {
			n++
			if fault.KindOf(err) == fault.Internal {
				t.Error(err)
			}
		})
		if err != nil || n == 0 {
			t.Errorf("%d documents and reasons, %v", n, err)
		}
	})
}
