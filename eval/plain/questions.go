package plain

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/percached/percached/eval"
)

const maxLine = 1 << 20 // bytes

// questions reads lines; those that are blank mean nothing.
func questions(s *eval.Set, from io.Reader) error {
	in := bufio.NewReader(from)
	for n := 1; ; n++ {
		line, whole, err := next(in)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var q eval.Question
		if whole {
			q, err = question(line, s.PassedOver)
		} else {
			err = fmt.Errorf("longer than %d bytes", maxLine)
		}
		if err != nil {
			s.Skipped = append(s.Skipped, eval.Skipped{Where: fmt.Sprintf("%s line %d", questionsName, n), Reason: err.Error()})
			continue
		}
		q.Number = n
		s.Questions = append(s.Questions, q)
	}
}

// next reads a line. Of one that is too long it gives the beginning.
func next(in *bufio.Reader) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := in.ReadSlice('\n')
		if whole = whole && len(line)+len(part) <= maxLine; whole {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && (len(line) > 0 || !whole):
			return line, whole, nil
		default:
			return line, whole, err
		}
	}
}

// question reads a line.
func question(line []byte, passedOver map[string]int) (q eval.Question, err error) {
	var fields map[string]json.RawMessage
	switch {
	case !utf8.Valid(line):
		return q, errors.New("not UTF-8")
	case json.Unmarshal(line, &fields) != nil || fields == nil:
		return q, errors.New("not a JSON object")
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
