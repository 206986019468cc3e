package plain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/lines"
)

const maxLine = 1 << 20 // bytes

// questions reads lines; those that are blank mean nothing.
func questions(d *eval.Data, from io.Reader) error {
	for l, err := range lines.Read(from, maxLine) {
		if err != nil {
			return err
		}
		var q eval.Question
		if l.Long {
			err = fmt.Errorf("longer than %d bytes", maxLine)
		} else {
			q, err = question(l.Text, d.PassedOver)
		}
		if err != nil {
			d.Skip(fmt.Sprintf("%s line %d", questionsName, l.Number), "%v", err)
			continue
		}
		q.Number = l.Number
		d.Sets[0].Questions = append(d.Sets[0].Questions, q)
	}
	return nil
}

// question reads a line.
func question(line []byte, passedOver map[string]int) (q eval.Question, err error) {
	fields, err := lines.Object(line)
	if err != nil {
		return q, err
	}
	var answer *string
	var answers, also []string
	const text, list = "a text", "a list of texts"
	for _, f := range []struct {
		name string
		to   any
		what string
	}{
		{"question", &q.Text, text},
		{"answer", &answer, text},
		{"answers", &answers, list},
		{"also", &also, list},
		{"paraphrases", &q.Paraphrases, list},
		{"document", &q.Document, text},
	} {
		if value, ok := fields[f.name]; ok && json.Unmarshal(value, f.to) != nil {
			return q, fmt.Errorf("%s is not %s", f.name, f.what)
		}
		delete(fields, f.name)
	}
	if answer != nil {
		q.Gold = append(q.Gold, *answer)
	}
	q.Gold = append(append(q.Gold, answers...), also...)
	switch {
	case blank(q.Text):
		return q, errors.New("no question")
	case anyBlank(q.Gold):
		return q, errors.New("an answer is empty")
	case anyBlank(q.Paraphrases):
		return q, errors.New("a paraphrase is empty")
	}
	for name := range fields {
		passedOver[name]++
	}
	return q, nil
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

func anyBlank(list []string) bool {
	for _, s := range list {
		if blank(s) {
			return true
		}
	}
	return false
}
