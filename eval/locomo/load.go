package locomo

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/lines"
)

// maxFile is the maximum size of a file, in bytes. The published one has 3 MB.
const maxFile = 64 << 20

// conversation is a conversation as published.
type conversation struct {
	ID   string                     `json:"sample_id"`
	Talk map[string]json.RawMessage `json:"conversation"`
	QA   []struct {
		Question string   `json:"question"`
		Answer   any      `json:"answer"` // a text or a number
		Evidence []string `json:"evidence"`
		Category int      `json:"category"`
	} `json:"qa"`
}

// turn is what one person says.
type turn struct {
	Speaker string `json:"speaker"`
	Text    string `json:"text"`
}

// Load reads the first conversations of a file; 0: all. It fails if there is no question to
// ask.
func Load(path string, users int) (*eval.Data, error) {
	all, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	d := &eval.Data{PassedOver: map[string]int{}}
	if users > 0 {
		all = all[:min(users, len(all))]
	}
	for i := range all {
		c := &all[i]
		if c.ID == "" {
			c.ID = fmt.Sprintf("conversation-%d", i+1)
		}
		set := eval.Set{User: c.ID, Kind: "dialog", Ordered: true}
		files := c.sessions(d, &set)
		c.questions(d, &set, files)
		if len(set.Files) == 0 || len(set.Questions) == 0 {
			d.Skip(c.ID, "%d sessions and %d questions with an answer", len(set.Files), len(set.Questions))
			continue
		}
		d.Sets = append(d.Sets, set)
	}
	if err := d.Askable(path); err != nil {
		return nil, err
	}
	return d, nil
}

func read(path string) (all []conversation, err error) {
	in, err := lines.Open(path)
	if err != nil {
		return nil, err
	}
	defer in.Close() //nolint:errcheck // nothing was written
	text, err := io.ReadAll(io.LimitReader(in, maxFile+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxFile:
		return nil, fmt.Errorf("larger than %d bytes", maxFile)
	}
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("not a list of conversations as LoCoMo has them: %w", err)
	}
	return all, nil
}

// sessions adds the sessions to the set, and returns the names of their files by number.
func (c *conversation) sessions(d *eval.Data, set *eval.Set) map[int]string {
	files := map[int]string{}
	for n := 1; ; n++ {
		key := "session_" + strconv.Itoa(n)
		if c.Talk[key] == nil && c.Talk[key+"_date_time"] == nil {
			return files
		}
		name, text, err := c.session(key, n)
		if err != nil {
			d.Skip(fmt.Sprintf("%s, session %d", c.ID, n), "%v", err)
			continue
		}
		files[n] = name
		set.Files = append(set.Files, eval.File{
			Name: name, Size: int64(len(text)),
			Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
		})
	}
}

// session is the file of a session.
func (c *conversation) session(key string, n int) (name, text string, err error) {
	var turns []turn
	if err := json.Unmarshal(c.Talk[key], &turns); err != nil || len(turns) == 0 {
		return "", "", errors.New("no turns")
	}
	var at string
	if err := json.Unmarshal(c.Talk[key+"_date_time"], &at); err != nil {
		return "", "", errors.New("no date")
	}
	day, err := time.Parse("3:04 pm on 2 January, 2006", at)
	if err != nil {
		return "", "", fmt.Errorf("the date is %q, not such as \"1:56 pm on 8 May, 2023\"", at)
	}
	var b strings.Builder
	for _, t := range turns {
		fmt.Fprintf(&b, "%s: %s\n", t.Speaker, strings.Join(strings.Fields(t.Text), " "))
	}
	return fmt.Sprintf("%s Session %d.txt", day.Format(time.DateOnly), n), b.String(), nil
}

// unsaid is the category of questions about what was never said.
const unsaid = 5

// evidence is the number of the session in a turn's name, such as D12:3.
var evidence = regexp.MustCompile(`D(\d+):\d+`)

// questions adds the questions with an answer, in order of time.
func (c *conversation) questions(d *eval.Data, set *eval.Set, files map[int]string) {
	unanswered := 0
	last := map[int]int{} // by the question's number: the last session of its evidence
	for i, qa := range c.QA {
		right := answer(qa.Answer)
		if right == "" || qa.Category == unsaid || strings.TrimSpace(qa.Question) == "" {
			unanswered++
			continue
		}
		q := eval.Question{Number: i + 1, Text: strings.TrimSpace(qa.Question), Gold: []string{right}}
		for _, e := range evidence.FindAllStringSubmatch(strings.Join(qa.Evidence, " "), -1) {
			n, err := strconv.Atoi(e[1])
			if err == nil {
				last[q.Number] = max(last[q.Number], n)
			}
		}
		q.Document = files[last[q.Number]]
		set.Questions = append(set.Questions, q)
	}
	slices.SortStableFunc(set.Questions, func(a, b eval.Question) int { return last[a.Number] - last[b.Number] })
	if unanswered > 0 {
		d.Skip(c.ID, "%d questions without an answer", unanswered)
	}
}

// answer is an answer as text; empty: none.
func answer(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}
