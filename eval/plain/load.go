package plain

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/lines"
)

const (
	documentsName = "documents"
	questionsName = "questions.jsonl"
)

// Load reads a folder. It fails if there are no documents or no questions.
func Load(dir string) (*eval.Data, error) {
	d := &eval.Data{Sets: []eval.Set{{User: "me", Ordered: true}}, PassedOver: map[string]int{}}
	s := &d.Sets[0]
	if err := documents(d, filepath.Join(dir, documentsName)); err != nil {
		return nil, fmt.Errorf("cannot read the documents: %w", err)
	}
	f, err := os.Open(filepath.Join(dir, questionsName))
	if err != nil {
		return nil, fmt.Errorf("cannot read the questions: %w", err)
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if err := questions(d, f); err != nil {
		return nil, fmt.Errorf("cannot read the questions: %w", err)
	}
	switch {
	case len(s.Files) == 0:
		return nil, fmt.Errorf("%s has no document%s", filepath.Join(dir, documentsName), because(d))
	case len(s.Questions) == 0:
		return nil, fmt.Errorf("%s has no question%s", f.Name(), because(d))
	}
	return d, nil
}

// because describes the last thing that was skipped.
func because(d *eval.Data) string {
	if last := d.LastSkipped(); last != "" {
		return " that is readable; " + last
	}
	return ""
}

// documents finds all files below root.
func documents(data *eval.Data, root string) error {
	if _, err := os.ReadDir(root); err != nil {
		return err
	}
	root, err := filepath.EvalSymlinks(root) // WalkDir follows no link
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if path == root {
			return err
		}
		below, relErr := filepath.Rel(root, path)
		if relErr != nil {
			return relErr
		}
		name := filepath.ToSlash(below)
		skip := func(reason string, usual bool) error {
			data.Skipped = append(data.Skipped, eval.Skipped{Where: documentsName + "/" + name, Reason: reason, Usual: usual})
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		wrong := wrongName(name)
		switch {
		case err != nil:
			return skip(err.Error(), false)
		case strings.HasPrefix(d.Name(), "."):
			return skip("hidden", true)
		case d.Type()&fs.ModeSymlink != 0:
			return skip("a link", true)
		case wrong != "":
			name = strconv.Quote(name)
			return skip(wrong, false)
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return skip("neither a file nor a folder", true)
		}
		size, err := opened(path)
		if err != nil {
			return skip(err.Error(), false)
		}
		data.Sets[0].Files = append(data.Sets[0].Files, eval.File{Name: name, Size: size, Open: func() (io.ReadCloser, error) { return os.Open(path) }})
		return nil
	})
}

const longestName = 1000 // bytes

// wrongName says why percached would refuse a file's name, and with it the whole upload.
func wrongName(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "its name is not UTF-8"
	case strings.ContainsFunc(name, unicode.IsControl):
		return "its name holds control characters"
	case strings.Contains(name, `\`):
		return "its name holds a backslash"
	case len(name) > longestName:
		return fmt.Sprintf("its name is longer than %d bytes", longestName)
	}
	return ""
}

// opened is the size of a file that can be opened.
func opened(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

const maxLine = 1 << 20 // bytes

// questions reads the lines that are not blank.
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
