package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// documentsName is always the same: a document of JSON lines goes by the name of
	// its file and its own key, and must be found again under the same key.
	documentsName = "documents.jsonl"
	maxKeyBytes   = 1000 // a longer one would not be a document's key
	// documentBodies is how many times Options.MaxBody one document may take of a
	// JSON body. One is in memory at a time; the body as a whole is bounded by
	// Options.MaxUpload, as any upload is.
	documentBodies = 8
)

// newDocument is a document of a JSON body.
type newDocument struct {
	Key    *string `json:"key"` // a document with the same key is replaced
	Title  string  `json:"title"`
	Text   string  `json:"text"`
	Date   string  `json:"date"` // a time of RFC 3339, or its day alone
	Source string  `json:"source"`
}

// documentLine is a document as a line of JSON that knowledgebank's reader knows.
type documentLine struct {
	ID     *string `json:"id,omitempty"`
	Title  string  `json:"title,omitempty"`
	Date   string  `json:"date,omitempty"`
	Source string  `json:"source,omitempty"`
	Text   string  `json:"text"`
}

// documents is the file of JSON lines that a body {"documents":[...]} stands
// for. Each document is parsed when its line is read.
type documents struct {
	from  io.Reader
	sent  *limitedReader // what comes of the body, where it is not parsed as it comes
	body  *limitedReader
	json  *json.Decoder
	most  int64 // bytes of a document
	begun bool
	n     int    // documents read
	line  []byte // what is left of the last one's line
	err   error  // why there is no more
}

// jsonDocuments hands on the documents of a JSON body as one file.
func jsonDocuments(from io.Reader, most int64, take fileSink) error {
	d := documentsOf(from, most)
	err := take.takeAll(documentsName, d)
	if d.sent != nil && d.sent.err != nil {
		return d.sent.err
	}
	if d.err != nil && d.err != io.EOF {
		return d.err
	}
	return err
}

func documentsOf(from io.Reader, most int64) *documents {
	m := &limitedReader{in: from}
	return &documents{from: from, body: m, json: json.NewDecoder(m), most: most}
}

// Sent is the body as it comes. Who reads it calls Parse with it then.
func (d *documents) Sent() io.Reader {
	d.sent = &limitedReader{in: d.from}
	return d.sent
}

// Parse makes the lines out of a body that was read.
func (d *documents) Parse(sent io.Reader) io.Reader {
	d.body.in = sent
	return d
}

// Held is how many bytes of the body are held at a time.
func (d *documents) Held() int64 { return d.most }

func (d *documents) Read(p []byte) (int, error) {
	if len(d.line) == 0 && d.err == nil {
		d.line, d.err = d.next()
	}
	if len(d.line) == 0 {
		return 0, d.err
	}
	n := copy(p, d.line)
	d.line = d.line[n:]
	return n, nil
}

// next gives the line of the next document; io.EOF behind the last, if the body
// is right to its end.
func (d *documents) next() ([]byte, error) {
	const between = 4 << 10 // bytes of what stands between documents
	d.body.allow(d.most + between)
	if !d.begun {
		if err := d.begin(); err != nil {
			return nil, err
		}
		d.begun = true
	}
	if !d.json.More() {
		return nil, d.end()
	}
	at := "/documents/" + strconv.Itoa(d.n)
	d.n++
	var raw json.RawMessage
	if err := d.json.Decode(&raw); err != nil {
		return nil, d.broken(at, err)
	}
	if int64(len(raw)) > d.most {
		return nil, d.broken(at, errBound)
	}
	return lineOf(at, raw)
}

// begin reads up to the first document.
func (d *documents) begin() error {
	if err := d.expect(json.Delim('{'), "", "must be an object"); err != nil {
		return err
	}
	if !d.json.More() {
		return d.orBroken(invalidField("/documents", "must be there"))
	}
	if err := d.expect("documents", "", "may hold documents and nothing else"); err != nil {
		return err
	}
	if err := d.expect(json.Delim('['), "/documents", "must be an array"); err != nil {
		return err
	}
	if !d.json.More() {
		return d.orBroken(invalidField("/documents", "must hold at least one document"))
	}
	return nil
}

// end reads what is behind the last document.
func (d *documents) end() error {
	if err := d.expect(json.Delim(']'), "/documents", "must be an array"); err != nil {
		return err
	}
	if err := d.expect(json.Delim('}'), "", "may hold documents and nothing else"); err != nil {
		return err
	}
	switch _, err := d.json.Token(); {
	case err == nil:
		return refuse(problemBadBody, "there is more behind the object")
	case err != io.EOF:
		return d.broken("", err)
	}
	return io.EOF
}

// expect reads one token, which must be this one.
func (d *documents) expect(want json.Token, at, detail string) error {
	got, err := d.json.Token()
	switch {
	case err != nil:
		return d.broken(at, err)
	case got != want:
		return invalidField(at, "%s", detail)
	}
	return nil
}

// orBroken is an error, unless the body broke before.
func (d *documents) orBroken(err error) error {
	if _, broken := d.json.Token(); broken != nil {
		return d.broken("", broken)
	}
	return err
}

// broken says why the body cannot be read on.
func (d *documents) broken(at string, err error) error {
	switch {
	case d.body.err != nil:
		return d.body.err
	case errors.Is(err, errBound):
		return &problemError{problem: problemTooLarge, fields: []FieldError{
			{at, "one document may have " + strconv.FormatInt(d.most, 10) + " bytes"},
		}}
	}
	return refuse(problemBadBody, "it is not valid JSON, or ends too early")
}

// lineOf checks a document and makes its line.
func lineOf(at string, raw []byte) ([]byte, error) {
	if !utf8.Valid(raw) {
		return nil, invalidField(at, "must be UTF-8")
	}
	var d newDocument
	if err := unmarshal(raw, &d, true); err != nil {
		return nil, invalidFields(fieldsUnder(at, err)...)
	}
	d.Date = strings.ToUpper(d.Date) // the reader knows T and Z, not t and z
	if faults := d.faults(at); len(faults) > 0 {
		return nil, invalidFields(faults...)
	}
	if strings.TrimSpace(d.Title) == "" { // else the reader would name it after the file, which is none
		d.Title = titleOf(d.Text)
	}
	var line bytes.Buffer
	err := json.NewEncoder(&line).Encode(documentLine{d.Key, d.Title, d.Date, d.Source, d.Text}) // with a line end
	return line.Bytes(), err
}

// beginning is what a text without a title goes by: its first words.
func titleOf(text string) string {
	const most = 60 // bytes
	title := strings.Join(strings.Fields(strings.ToValidUTF8(text[:min(len(text), 4*most)], "")), " ")
	if len(title) <= most {
		return title
	}
	cut := strings.LastIndexByte(title[:most], ' ')
	if cut < 0 { // one long word
		cut = most
	}
	return strings.ToValidUTF8(title[:cut], "") + " ..."
}

func (d *newDocument) faults(at string) (faults []FieldError) {
	if d.Key != nil {
		switch k := *d.Key; {
		case strings.TrimSpace(k) == "":
			faults = append(faults, FieldError{at + "/key", "must not be blank: leave it out, or name the document"})
		case len(k) > maxKeyBytes, strings.ContainsFunc(k, unicode.IsControl):
			faults = append(faults, FieldError{at + "/key", fmt.Sprintf("must have at most %d bytes and no control characters", maxKeyBytes)})
		}
	}
	if strings.TrimSpace(d.Text) == "" {
		faults = append(faults, FieldError{at + "/text", "must hold text"})
	}
	if d.Date != "" && !documentDate(d.Date) {
		faults = append(faults, FieldError{at + "/date", "must be a time or a day as in RFC 3339, from 1970 to 2100"})
	}
	return faults
}

// documentDate says whether a date is one that the reader takes: it would leave
// out another without a word.
func documentDate(s string) bool {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		if t, err = time.Parse(time.DateOnly, s); err != nil {
			return false
		}
	}
	_, zone := t.Zone()
	return t.Year() >= 1970 && t.Year() <= 2100 && zone >= -14*3600 && zone <= 14*3600
}
