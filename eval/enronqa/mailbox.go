package enronqa

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	netmail "net/mail"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/lines"
)

// mailbox is a user's set while it grows.
type mailbox struct {
	set   eval.Set
	mails map[string][]mail    // by path
	sent  map[string]time.Time // by file; a mail without a date has none
}

// mail is a mail that is a file of the set.
type mail struct {
	file, text string
	asked      map[[2]string]bool // questions with their right answers
}

// add adds a row to its user's set.
func (l *loader) add(r row) {
	if r.wrong != nil {
		l.data.Skip(r.where, "%v", r.wrong)
		return
	}
	for _, c := range r.others {
		l.data.PassedOver[c]++
	}
	user, err := text(r.columns["user"])
	if err != nil {
		l.data.Skip(r.where, "no user: %v", err)
		return
	}
	place, err := text(r.columns["path"])
	if err != nil {
		l.data.Skip(r.where, "no path: %v", err)
		return
	}
	email, ok := r.columns["email"].(string)
	if !ok || strings.TrimSpace(email) == "" {
		l.data.Skip(r.where, "no email")
		return
	}
	box := l.boxes[user]
	if box == nil {
		box = &mailbox{set: eval.Set{User: user, Kind: "emails"}, mails: map[string][]mail{}, sent: map[string]time.Time{}}
		l.boxes[user] = box
	}
	l.questions(box, box.mail(place, email), r)
}

// mail is the mail of a row. Each part of the published data repeats it.
func (b *mailbox) mail(place, text string) mail {
	for _, m := range b.mails[place] {
		if m.text == text {
			return m
		}
	}
	m := mail{file: fileName(place, b.sent), text: text, asked: map[[2]string]bool{}}
	b.sent[m.file] = sent(text)
	b.mails[place] = append(b.mails[place], m)
	b.set.Files = append(b.set.Files, eval.File{
		Name: m.file, Size: int64(len(text)),
		Open: func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(text)), nil },
	})
	return m
}

// sent is the time in a mail's header Date; zero: there is none.
func sent(text string) time.Time {
	m, err := netmail.ReadMessage(strings.NewReader(text))
	if err != nil {
		return time.Time{}
	}
	at, err := m.Header.Date()
	if err != nil {
		return time.Time{}
	}
	return at
}

// sort puts the questions in order of time, if every mail has one.
func (b *mailbox) sort() {
	for _, at := range b.sent {
		if at.IsZero() {
			return
		}
	}
	slices.SortStableFunc(b.set.Questions, func(p, q eval.Question) int { return b.sent[p.Document].Compare(b.sent[q.Document]) })
	b.set.Ordered = true
}

// questions adds the questions of a row.
func (l *loader) questions(b *mailbox, m mail, r row) {
	questions, err := list(r.columns["questions"])
	if err != nil {
		l.data.Skip(r.where, "questions: %v", err)
		return
	}
	golds, err := list(r.columns["gold_answers"])
	if err == nil && len(golds) != len(questions) {
		err = fmt.Errorf("%d for %d questions, so none is asked", len(golds), len(questions))
	}
	if err != nil {
		l.data.Skip(r.where, "gold_answers: %v", err)
		return
	}
	rephrased, alternates := l.beside(r, "rephrased_questions", len(questions)), l.beside(r, "alternate_answers", len(questions))
	for i := range questions {
		q, err := question(questions[i], golds[i], rephrased[i], alternates[i])
		turn := [2]string{q.Text, strings.Join(q.Gold[:min(1, len(q.Gold))], "")}
		if q.Text != "" && m.asked[turn] {
			err = errors.New("duplicate: same question and answer about this mail")
		}
		where := fmt.Sprintf("%s, question %d", r.where, i+1)
		if err != nil {
			l.data.Skip(where, "%v", err)
			if !errors.Is(err, errPart) {
				continue
			}
		}
		m.asked[turn] = true
		q.Number, q.Document = len(b.set.Questions)+1, m.file
		b.set.Questions = append(b.set.Questions, q)
	}
}

// beside is a list that belongs to the questions. If it does not match them, all its
// elements are nil.
func (l *loader) beside(r row, column string, n int) []any {
	if r.columns[column] == nil {
		return make([]any, n)
	}
	of, err := list(r.columns[column])
	if err == nil && len(of) != n {
		err = fmt.Errorf("%d for %d questions, so none is used", len(of), n)
	}
	if err != nil {
		l.data.Skip(r.where, "%s: %v", column, err)
		return make([]any, n)
	}
	return of
}

// errPart means that the question can be asked without the part.
var errPart = errors.New("it is left out")

func question(asked, gold, rephrased, alternates any) (q eval.Question, err error) {
	if q.Text, err = text(asked); err != nil {
		return eval.Question{}, fmt.Errorf("no question: %w", err)
	}
	var wrong error
	further, err := texts(alternates)
	if err != nil {
		wrong = fmt.Errorf("an alternate answer is %w: %w", err, errPart)
	}
	right, err := text(gold)
	if err != nil {
		return eval.Question{}, fmt.Errorf("no gold answer: %w", err)
	}
	for _, a := range append([]string{right}, further...) {
		if !slices.Contains(q.Gold, a) {
			q.Gold = append(q.Gold, a)
		}
	}
	if rephrased != nil {
		switch other, err := text(rephrased); {
		case err != nil:
			wrong = errors.Join(wrong, fmt.Errorf("the rephrased question is %w: %w", err, errPart))
		case other != q.Text:
			q.Paraphrases = []string{other}
		}
	}
	return q, wrong
}

// text reads a text and trims it.
func text(v any) (string, error) {
	s, ok := v.(string)
	switch s = strings.TrimSpace(s); {
	case v == nil || ok && s == "":
		return "", errors.New("empty")
	case !ok:
		return "", errors.New("not a text")
	case !utf8.ValidString(s):
		return "", errors.New("not UTF-8")
	}
	return s, nil
}

// texts are all texts in a value, at any depth. Other values are left out, and the last of
// them is the error.
func texts(v any) (all []string, err error) {
	of, ok := v.([]any)
	if !ok {
		if v == nil {
			return nil, nil
		}
		one, err := text(v)
		if err != nil {
			return nil, err
		}
		return []string{one}, nil
	}
	for _, in := range of {
		more, wrong := texts(in)
		if all = append(all, more...); wrong != nil {
			err = wrong
		}
	}
	return all, err
}

func list(v any) ([]any, error) {
	of, ok := v.([]any)
	if !ok && v != nil {
		return nil, errors.New("not a list")
	}
	return of, nil
}

// longest is the maximum length of a file's name, in bytes: percached allows 1000.
const longest = 900

// fileName is a free file name for the mail at a place, with its folders. Characters that
// some system forbids are replaced.
func fileName[T any](place string, taken map[string]T) string {
	place = strings.Map(func(c rune) rune {
		switch {
		case c == '\\':
			return '/'
		case unicode.IsControl(c), c == utf8.RuneError, strings.ContainsRune(`<>:"|?*`, c):
			return '_'
		}
		return c
	}, place)
	var parts []string
	for part := range strings.SplitSeq(place, "/") {
		if part = strings.TrimRight(strings.TrimSpace(part), ". "); part != "" {
			parts = append(parts, part)
		}
	}
	name := strings.TrimSuffix(strings.Join(parts, "/"), ".eml")
	if len(name) > longest {
		name = strings.ToValidUTF8(name[len(name)-longest:], "")
		name = strings.TrimLeft(name, "/. ")
	}
	if name == "" {
		name = "mail"
	}
	for n := 1; ; n++ {
		whole := name + ".eml"
		if n > 1 {
			whole = fmt.Sprintf("%s-%d.eml", name, n)
		}
		if _, ok := taken[whole]; !ok {
			return whole
		}
	}
}

// inboxName is the file of a user's whole mail. It comes before the mails with questions,
// which it also contains: a document belongs to the file that was added last.
const inboxName = "inbox.mbox"

// inbox finds a user's whole mail. Why says why there is none.
func inbox(folder, user string) (f eval.File, why string, err error) {
	if user != filepath.Base(user) || !filepath.IsLocal(user) {
		return f, "the user's name cannot be a file name", nil
	}
	for _, ending := range []string{".mbox", ".mbox.gz"} {
		path := filepath.Join(folder, user+ending)
		in, err := lines.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return f, "", err
		}
		size, err := io.Copy(io.Discard, in) // also detects damage
		if err = errors.Join(err, in.Close()); err != nil {
			return f, "", fmt.Errorf("%s: %w", path, err)
		}
		return eval.File{Name: inboxName, Size: size, Open: func() (io.ReadCloser, error) { return lines.Open(path) }}, "", nil
	}
	return f, fmt.Sprintf("%s has neither %s.mbox nor %s.mbox.gz", folder, user, user), nil
}
