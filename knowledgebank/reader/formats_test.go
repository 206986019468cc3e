package reader

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

// scripts are sentences in which the end of the sample may cut a character.
var scripts = map[string]string{
	"Chinese":  "钥匙在门口的垫子下面。",
	"Japanese": "かぎはげんかんのマットのしたにあります。",
	"Russian":  "Ключ лежит под ковриком у двери, как всегда. ",
}

func encoded(t *testing.T, enc encoding.Encoding, text string) string {
	t.Helper()
	out, err := enc.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// A file of text is recognised wherever the sample ends.
func TestLongText(t *testing.T) {
	r := newReader(t, Default())
	for name, sentence := range scripts {
		text := strings.Repeat(sentence+"\n", 2*window/len(sentence)) + "The end.\n"
		files := map[string]string{
			"UTF-16LE": encoded(t, unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), text),
			"UTF-16BE": encoded(t, unicode.UTF16(unicode.BigEndian, unicode.UseBOM), text),
		}
		for shift := range 4 {
			files[fmt.Sprintf("UTF-8 behind %d bytes", shift)] = strings.Repeat("x", shift) + text
		}
		files["UTF-8 with a damaged character"] = sentence + "\x93\n" + text
		for form, data := range files {
			got := story(t, r, "a.txt", []byte(data))
			if !strings.Contains(got, "format: text\n") || !strings.Contains(got, sentence[:12]) || !strings.Contains(got, "The end.") {
				t.Errorf("%s in %s: %.100q", name, form, got)
			}
		}
	}
}

// Every mail of a mailbox is read, whatever bytes it holds.
func TestMailboxOfBytes(t *testing.T) {
	r := newReader(t, Default())
	binary := make([]byte, window)
	for i := range binary {
		binary[i] = byte(i * 7)
	}
	for charset, body := range map[string]string{
		"shift_jis":    encoded(t, japanese.ShiftJIS, strings.Repeat(scripts["Japanese"]+"\n", 3000)),
		"windows-1251": encoded(t, charmap.Windows1251, strings.Repeat(scripts["Russian"]+"\n", 3000)),
		"ibm866":       encoded(t, charmap.CodePage866, strings.Repeat(strings.ToUpper(scripts["Russian"])+"\n", 3000)),
		"utf-8":        strings.Repeat(scripts["Chinese"]+"\n", 3000),
		"x-unknown":    string(binary) + "\n",
	} {
		var box strings.Builder
		for i := range 3 {
			fmt.Fprintf(&box, "From a Mon Feb  3 09:12:40 2025\nContent-Type: text/plain; charset=%s\n"+letter+"%s\n", charset, fmt.Sprint(i), body)
		}
		for _, name := range []string{"box", "box.mbox", "box.eml"} {
			got := story(t, r, name, []byte(box.String()))
			if n := strings.Count(got, "key: mail:<"); n != 3 || strings.Contains(got, "failed:") {
				t.Errorf("%s in %s: %d mails, %.100q", charset, name, n, got)
			}
		}
	}
}

// A byte order mark does not turn binary data into text.
func TestMarkedBytes(t *testing.T) {
	r := newReader(t, Default())
	rd := rand.New(rand.NewPCG(1, 2))
	for _, begin := range []string{"\xff\xfe", "\xfe\xff", byteMark} {
		data := []byte(begin)
		for range 5000 {
			data = append(data, byte(1+rd.IntN(255)))
		}
		if got := story(t, r, "a.dat", data); !strings.Contains(got, "(unsupported)") {
			t.Errorf("%x: %.100q", begin, got)
		}
	}
}

// JSON lines differ from text that begins with an object.
func TestJSONStart(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       kind
	}{
		{"a", "{\"text\": \"x\"}\n", linesKind},
		{"a.log", "{\"text\": \"x\"}\n\n{ \"text\": \"y\"}\n", linesKind},
		{"a.log", "{\"text\": \"x\"}\n{\"text\": \"damaged\n", linesKind},
		{"a.log", "{\"text\": \"x\"}\n\nThen some notes.\n", textKind},
		{"a.log", "{}\n{see below}\n", textKind},
		{"a.txt", "{\"text\": \"x\"}\n{\"text\": \"y\"}\n", textKind},
		{"a.md", "{\"text\": \"x\"}\n", markdownKind},
		{"a.json", "{\"text\": \"x\"}\nThen some notes.\n", linesKind},
		{"a.json", "{\n\"text\": \"x\"}\n", jsonKind},
		{"a.jsonl", "Some notes.\n{\"text\": \"y\"}\n", linesKind},
		{"a", "{\"text\": \"" + strings.Repeat("long ", window) + "\"}\n", linesKind},
	} {
		if got := sniff(tt.name, []byte(tt.text[:min(len(tt.text), window)])).kind; got != tt.want {
			t.Errorf("%s, %.40q: kind %d, want %d", tt.name, tt.text, got, tt.want)
		}
	}
}
