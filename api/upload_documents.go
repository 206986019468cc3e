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
	// documentsName is constant, because a document is identified by the name of its file and its own
	// key. The same key must find the same document again.
	documentsName = "documents.jsonl"
	maxKeyBytes   = 1000 // the reader's limit for a document's key
	// documentBodies times Options.MaxBody is the largest document of a JSON body. One document is in
	// memory at a time. Options.MaxUpload limits the whole body.
	documentBodies = 8
)

// newDocument is one document of a JSON body.
type newDocument struct {
	Key    *string `json:"key"` // replaces the document with the same key
	Title  string  `json:"title"`
	Text   string  `json:"text"`
	Date   string  `json:"date"` // an RFC 3339 time or date
	Source string  `json:"source"`
}

// documentLine is a document as a JSON line for knowledgebank's reader.
type documentLine struct {
	ID     *string `json:"id,omitempty"`
	Title  string  `json:"title,omitempty"`
	Date   string  `json:"date,omitempty"`
	Source string  `json:"source,omitempty"`
	Text   string  `json:"text"`
}

// documents presents a body {"documents":[...]} as a file of JSON lines. It parses a document
// when its line is read.
type documents struct {
	from  io.Reader
	sent  *limitedReader // the unparsed body, if the reader called Sent
	body  *limitedReader
	json  *json.Decoder
	most  int64 // largest document, in bytes
	begun bool
	n     int    // documents read
	line  []byte // the unread part of the current line
	err   error  // why no more lines follow
}

// jsonDocuments passes on the documents of a JSON body as one file.
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

// Sent returns the unparsed body. After reading it, the reader calls Parse.
func (d *documents) Sent() io.Reader {
	d.sent = &limitedReader{in: d.from}
	return d.sent
}

// Parse returns the lines of a body that was stored unparsed.
func (d *documents) Parse(sent io.Reader) io.Reader {
	d.body.in = sent
	return d
}

// Held returns how many bytes of the body are in memory at a time, at most.
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

// next returns the next document's line. After the last document it checks the rest of the body
// and returns io.EOF.
func (d *documents) next() ([]byte, error) {
	const between = 4 << 10 // bytes between documents
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
		return d.orBroken(invalidField("/documents", "is missing"))
	}
	if err := d.expect("documents", "", "must contain the field documents only"); err != nil {
		return err
	}
	if err := d.expect(json.Delim('['), "/documents", "must be an array"); err != nil {
		return err
	}
	if !d.json.More() {
		return d.orBroken(invalidField("/documents", "must contain at least one document"))
	}
	return nil
}

// end reads what follows the last document.
func (d *documents) end() error {
	if err := d.expect(json.Delim(']'), "/documents", "must be an array"); err != nil {
		return err
	}
	if err := d.expect(json.Delim('}'), "", "must contain the field documents only"); err != nil {
		return err
	}
	switch _, err := d.json.Token(); {
	case err == nil:
		return refuse(problemBadBody, "the body continues after the object")
	case err != io.EOF:
		return d.broken("", err)
	}
	return io.EOF
}

// expect reads one token and compares it.
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

// orBroken returns err, unless the body ended or broke before.
func (d *documents) orBroken(err error) error {
	if _, broken := d.json.Token(); broken != nil {
		return d.broken("", broken)
	}
	return err
}

// broken says why the body cannot be read further.
func (d *documents) broken(at string, err error) error {
	switch {
	case d.body.err != nil:
		return d.body.err
	case errors.Is(err, errBound):
		return &problemError{problem: problemTooLarge, fields: []FieldError{
			{at, "the document is longer than the limit of " + strconv.FormatInt(d.most, 10) + " bytes"},
		}}
	}
	return refuse(problemBadBody, "the body is not valid JSON, or it ended early")
}

// lineOf checks a document and encodes its line.
func lineOf(at string, raw []byte) ([]byte, error) {
	if !utf8.Valid(raw) {
		return nil, invalidField(at, "must be UTF-8")
	}
	var d newDocument
	if err := unmarshal(raw, &d, true); err != nil {
		return nil, invalidFields(fieldsUnder(at, err)...)
	}
	d.Date = strings.ToUpper(d.Date) // the reader accepts upper-case T and Z only
	if faults := d.faults(at); len(faults) > 0 {
		return nil, invalidFields(faults...)
	}
	if strings.TrimSpace(d.Title) == "" { // otherwise the reader would use the file name, which is not real
		d.Title = titleOf(d.Text)
	}
	var line bytes.Buffer
	err := json.NewEncoder(&line).Encode(documentLine{d.Key, d.Title, d.Date, d.Source, d.Text}) // ends with a newline
	return line.Bytes(), err
}

// titleOf makes a title from the first words of a text.
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
			faults = append(faults, FieldError{at + "/key", "must not be blank; leave it out if the document has no key"})
		case len(k) > maxKeyBytes, strings.ContainsFunc(k, unicode.IsControl):
			faults = append(faults, FieldError{at + "/key", fmt.Sprintf("must have at most %d bytes and no control characters", maxKeyBytes)})
		}
	}
	if strings.TrimSpace(d.Text) == "" {
		faults = append(faults, FieldError{at + "/text", "must not be empty"})
	}
	if d.Date != "" && !documentDate(d.Date) {
		faults = append(faults, FieldError{at + "/date", "must be a time or date in RFC 3339 format, from 1970 to 2100"})
	}
	return faults
}

// documentDate says whether the reader accepts a date. The reader ignores others silently.
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
