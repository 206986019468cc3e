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
	known := map[string]any{
		"question": &q.Text, "answer": &answer, "answers": &answers, "also": &also, "paraphrases": &q.Paraphrases, "document": &q.Document,
	}
	for name, to := range known {
		if value, ok := fields[name]; ok && json.Unmarshal(value, to) != nil {
			what := "a text"
			if _, list := to.(*[]string); list {
				what = "a list of texts"
			}
			return q, fmt.Errorf("%s is not %s", name, what)
		}
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
		if known[name] == nil {
			passedOver[name]++
		}
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
