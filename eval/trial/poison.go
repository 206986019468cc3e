package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
	"github.com/percached/percached/eval/measure"
)

// poison imports a wrong answer to each question into a system's bank. Each rests on a
// chunk without the right answer, if there is one.
func (u *unit) poison(ctx context.Context, s *system) error {
	chunks, err := u.evidenceChunks(ctx, s.space)
	if err != nil {
		return err
	}
	var lines bytes.Buffer
	to := json.NewEncoder(&lines)
	for i, q := range u.Asked {
		rests := chunks[0]
		if at := slices.IndexFunc(chunks, func(c string) bool { return !s.answerChunks[q.Number][c] }); at >= 0 {
			rests = chunks[at]
		}
		if err := to.Encode(client.ExportedEntry{
			Question: q.Text, Answer: wrongAnswer(u.Asked, i), Evidence: []client.ChunkID{rests},
			Origin: client.OriginAsked, Settings: "poisoned", Made: time.Now().UTC(),
		}); err != nil {
			return err
		}
	}
	got, err := call[client.Imported](u.api.ImportEntriesWithBody(ctx, s.space, "application/x-ndjson", &lines))
	switch {
	case err != nil:
		return err
	case len(got.Refused) > 0:
		return fmt.Errorf("cannot import the wrong answers: of %d, %d were refused; line %d: %s", len(u.Asked), len(got.Refused), got.Refused[0].Line, got.Refused[0].Reason)
	case got.Imported == 0:
		return errors.New("cannot import the wrong answers: none was stored")
	}
	return nil
}

// evidenceChunks are the first chunks of two documents, or of the only one.
func (u *unit) evidenceChunks(ctx context.Context, space string) (chunks []string, _ error) {
	const enough = 2
	page, err := call[client.Documents](u.api.ListDocuments(ctx, space, &client.ListDocumentsParams{Limit: new(100)}))
	if err != nil {
		return nil, err
	}
	for _, d := range page.Documents {
		whole, err := call[client.DocumentText](u.api.GetDocument(ctx, space, d.ID))
		if err != nil {
			return nil, err
		}
		if len(whole.Text) > 0 {
			chunks = append(chunks, whole.Text[0].Chunk)
		}
		if len(chunks) == enough {
			break
		}
	}
	if len(chunks) == 0 {
		return nil, errors.New("the documents have no chunk for a wrong answer to rest on")
	}
	return chunks, nil
}

// madeUpAnswer answers no question.
const madeUpAnswer = "number 77193 at Quillfeather Quay"

// wrongAnswer is the right answer to the next question with other facts. Questions with
// the same text get the same wrong answer.
func wrongAnswer(asked []eval.Asked, i int) string {
	i = slices.IndexFunc(asked, func(a eval.Asked) bool { return a.Text == asked[i].Text })
	for n := range asked {
		other := asked[(i+n)%len(asked)].Gold
		if len(asked[i].Gold) > 0 && len(other) > 0 && differsFrom(other[0], asked[i].Gold) {
			return other[0]
		}
	}
	return madeUpAnswer
}

// differsFrom says whether an answer shares neither facts nor words with any right answer.
func differsFrom(answer string, right []string) bool {
	return measure.F1(answer, right) == 0 && !slices.ContainsFunc(right, func(r string) bool { return !measure.Contradicts(answer, r) })
}
