package knowledgebank

import (
	"strings"
	"testing"
)

// Chunks of an attachment or a sheet name it, and no chunk has text of two parts.
func TestParts(t *testing.T) {
	s := &Source{Key: "k", Title: "Papers", Source: "mail from Ana", Format: "mail", Blocks: []Block{
		{Text: "Please sign."},
		{Part: "attachment lease.docx", Text: "The rent is 480 euros."},
		{Part: "attachment lease.docx", Text: "The deposit is 900 euros."},
		{Part: "attachment talk.vtt\n### x", Speaker: "Bo", At: "00:12:31", Text: "The lamp is broken."},
		{Text: "Signed by Ana."},
	}}
	b, _ := newBank(t)
	it, err := b.prepare(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range it.chunks {
		got = append(got, c.Head+"|"+strings.ReplaceAll(c.Body, "\n", "/"))
	}
	want := []string{
		"### Papers (mail from Ana)|Please sign.",
		"### Papers (mail from Ana, attachment lease.docx)|The rent is 480 euros./The deposit is 900 euros.",
		"### Papers (mail from Ana, attachment talk.vtt ### x, minute 12)|Bo: The lamp is broken.",
		"### Papers (mail from Ana)|Signed by Ana.",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
