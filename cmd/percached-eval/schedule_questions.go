package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"

	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/knowledgebank"
)

// The kinds of questions of a course.
const (
	givenQuestion     = "given"
	predictedQuestion = "predicted"
	rewordedQuestion  = "reworded" // a prediction with one word replaced
	newQuestion       = "new"
)

// courseQuestion is a question with its kind.
type courseQuestion struct{ text, kind string }

// givenQuestions reads the questions of a file. Without a file it returns none.
func givenQuestions(path string) (questions []string, err error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: questions", "%w", err)
	}
	defer f.Close()
	lines := json.NewDecoder(bufio.NewReader(f))
	for len(questions) < scheduleQuestions {
		var q repeat
		switch err := lines.Decode(&q); {
		case errors.Is(err, io.EOF):
			return nil, cmdline.Misusef("--questions: there are %d questions, %d are asked", len(questions), scheduleQuestions)
		case err != nil:
			return nil, cmdline.Misusef("--questions: question %d: %v", len(questions)+1, err)
		case strings.TrimSpace(q.Question) == "":
			return nil, cmdline.Misusef("--questions: question %d is empty", len(questions)+1)
		}
		questions = append(questions, q.Question)
	}
	return questions, nil
}

// question returns the n-th question.
func (c *course) question(n int) (courseQuestion, error) {
	if c.given != nil {
		return courseQuestion{c.given[n-1], givenQuestion}, nil
	}
	rng := rand.New(rand.NewPCG(c.seed, uint64(n)))
	kind := []string{rewordedQuestion, newQuestion, predictedQuestion}[n%3]
	if kind != newQuestion {
		latest, err := c.predictions()
		if err != nil {
			return courseQuestion{}, err
		}
		if len(latest) > 0 {
			q := latest[rng.IntN(len(latest))]
			c.asked[q] = true
			if kind == rewordedQuestion {
				q = reworded(q)
			}
			return courseQuestion{q, kind}, nil
		}
	}
	q := about(c.docs[rng.IntN(c.in)])
	for range 10 { // documents may share a title
		if !c.asked[q] {
			break
		}
		q = about(c.docs[rng.IntN(c.in)])
	}
	return courseQuestion{q, newQuestion}, nil
}

// predictions returns the latest unasked predictions of both nodes.
func (c *course) predictions() ([]string, error) {
	without, err := c.sides.Without.Predictor.Predictions(scheduleSpace)
	if err != nil {
		return nil, err
	}
	theirs := map[string]bool{}
	for _, p := range without {
		theirs[p.Question] = true
	}
	with, err := c.sides.With.Predictor.Predictions(scheduleSpace) // the latest first
	var latest []string
	for _, p := range with {
		if theirs[p.Question] && !c.asked[p.Question] && len(latest) < c.Options.Idle.Stride {
			latest = append(latest, p.Question)
		}
	}
	return latest, err
}

// reworded replaces a word without changing the meaning.
func reworded(q string) string {
	for _, swap := range [][2]string{
		{"What ", "Which "}, {"Which ", "What "}, {"When ", "On what day "}, {"Who ", "Which person "}, {"Where ", "In which place "}, {"How much ", "What amount "},
	} {
		if rest, ok := strings.CutPrefix(q, swap[0]); ok {
			return swap[1] + rest
		}
	}
	return "Please tell me: " + q
}

// about asks about a document by its title.
func about(d *knowledgebank.Source) string {
	const most = 8
	title := strings.TrimSpace(d.Title)
	for {
		mark, rest, ok := strings.Cut(title, ":")
		if !ok || len(mark) > 3 { // Re:, Fw:, Fwd:
			break
		}
		title = strings.TrimSpace(rest)
	}
	if title == "" && len(d.Blocks) > 0 {
		title = d.Blocks[0].Text
	}
	words := strings.Fields(title)
	title = strings.Trim(strings.Join(words[:min(len(words), most)], " "), ".?!,;: ")
	if from, ok := strings.CutPrefix(d.Source, "mail from "); ok {
		return "What does " + from + " write about " + title + "?"
	}
	return "What is said about " + title + "?"
}
