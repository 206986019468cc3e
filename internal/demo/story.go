package demo

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/answer/grounded"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/child"
	"github.com/percached/percached/internal/link"
)

// The questions of the demo. models/demo has more.
const (
	Question   = "What is the budget for Heron?"
	OtherWords = "What budget does Heron have?"
	OtherName  = "What is the budget for Sandpiper?"
)

// story runs the steps of the demo.
type story struct {
	api            *client.ClientWithResponses
	out            io.Writer // shows each step
	predictionTime time.Duration
	report         Report
}

// run runs all steps. An error means that the demo cannot continue; failed expectations are
// in the report.
func (s *story) run(ctx context.Context) error {
	if err := s.addInbox(ctx); err != nil {
		return err
	}
	s.say("Asking a new question: nothing is stored, so the model reads the whole prompt.")
	first, err := s.ask(ctx, "first time", client.Question{Question: Question})
	if err != nil {
		return err
	}
	s.expect(first.Outcome == client.OutcomeMiss, "the first question was a %s, not a miss", first.Outcome)
	s.say("Asking about another name: the stored answer must not be returned.")
	other, err := s.ask(ctx, "another name", client.Question{Question: OtherName})
	if err != nil {
		return err
	}
	s.expect(other.Outcome != client.OutcomeAnswerHit, "a question about one name got the stored answer of another")
	if err := s.predict(ctx); err != nil {
		return err
	}
	s.say("Asking the first question in other words: the stored answer is returned.")
	again, err := s.ask(ctx, "other words", client.Question{Question: OtherWords})
	if err != nil {
		return err
	}
	s.expect(again.Outcome == client.OutcomeAnswerHit && again.Answer == first.Answer, "the stored answer was not returned for the question in other words: %s", again.Gate.Why)
	if err := s.askPredicted(ctx); err != nil {
		return err
	}
	s.say("Asking without the stored answer: the tensors of the chunks are loaded, and only the question is computed.")
	warm, err := s.ask(ctx, "tensors alone", client.Question{Question: Question, Bypass: new(true)})
	if err != nil {
		return err
	}
	s.expect(warm.Outcome == client.OutcomeTensorHit && warm.Tokens.Reused > 0, "the stored tensors were not used: it was a %s", warm.Outcome)
	s.expect(warm.Answer == first.Answer, "the answer from stored tensors differs from the first answer")
	if err := s.forget(ctx, first); err != nil {
		return err
	}
	s.say("Asking the first question again: the model answers from the other mails, or invents something.")
	last, err := s.ask(ctx, "mail deleted", client.Question{Question: Question})
	if err == nil {
		s.expect(last.Outcome != client.OutcomeAnswerHit, "a stored answer was returned after its mail was deleted")
	}
	return err
}

// ask asks a question, prints the outcome and adds it to the report.
func (s *story) ask(ctx context.Context, step string, q client.Question) (*client.Answer, error) {
	began := time.Now()
	got, err := s.api.AskWithResponse(ctx, link.DefaultSpace, q)
	if err != nil || got.JSON200 == nil {
		return nil, requestError("asking", got, err)
	}
	a := got.JSON200
	row := row{
		Step: step, Question: q.Question, Ms: float64(time.Since(began)) / float64(time.Millisecond), Outcome: string(a.Outcome),
		Reused: a.Tokens.Reused, Prompt: a.Tokens.Prompt, Answer: a.Answer, Refused: a.Refused,
	}
	s.report.Questions = append(s.report.Questions, row)
	s.say("  %s", q.Question)
	s.say("  %s (%s, %.1f ms)", shorten(row.Answer), a.Outcome.Text(), row.Ms)
	return a, nil
}

// askPredicted asks a question that was predicted and answered, if there is one.
func (s *story) askPredicted(ctx context.Context) error {
	predicted, err := s.api.ListPredictionsWithResponse(ctx, link.DefaultSpace)
	if err != nil || predicted.JSON200 == nil {
		return requestError("listing predictions", predicted, err)
	}
	entries, err := s.api.ListEntriesWithResponse(ctx, link.DefaultSpace, &client.ListEntriesParams{Limit: new(1000)})
	if err != nil || entries.JSON200 == nil {
		return requestError("listing stored answers", entries, err)
	}
	answers := map[string]string{}
	for _, e := range entries.JSON200.Entries {
		if e.Origin == client.OriginPredicted && e.Answered && !e.Refused && !e.Stale {
			answers[e.Question] = e.Answer
		}
	}
	ready := slices.DeleteFunc(predicted.JSON200.Predictions, func(p client.Prediction) bool { return answers[p.Question] == "" })
	if len(ready) == 0 {
		s.say("No predicted question has an answer yet.")
		return nil
	}
	texts, err := s.passages(ctx)
	if err != nil {
		return err
	}
	support := map[string]float64{}
	for _, p := range ready {
		if best, ok := grounded.Best(p.Question, texts); ok {
			support[p.Question] = grounded.Share(p.Question+" "+answers[p.Question], best.Text)
		}
	}
	// A question whose words and answer occur in one sentence makes sense to a reader.
	p := slices.MinFunc(ready, func(a, b client.Prediction) int {
		return cmp.Or(cmp.Compare(support[b.Question], support[a.Question]), len(a.Question)-len(b.Question), strings.Compare(a.Question, b.Question))
	})
	s.say("Asking a predicted question: idle work has answered it in advance.")
	a, err := s.ask(ctx, "predicted", client.Question{Question: p.Question})
	if err == nil {
		s.expect(a.Outcome == client.OutcomeAnswerHit, "the prepared answer of a predicted question was not returned: %s", a.Gate.Why)
	}
	return err
}

// passages returns the text of all documents.
func (s *story) passages(ctx context.Context) (texts []grounded.Passage, err error) {
	all, err := s.api.ListDocumentsWithResponse(ctx, link.DefaultSpace, &client.ListDocumentsParams{Limit: new(1000)})
	if err != nil || all.JSON200 == nil {
		return nil, requestError("listing documents", all, err)
	}
	for _, d := range all.JSON200.Documents {
		got, err := s.api.GetDocumentWithResponse(ctx, link.DefaultSpace, d.ID)
		if err != nil || got.JSON200 == nil {
			return nil, requestError("reading a document", got, err)
		}
		for _, c := range got.JSON200.Text {
			texts = append(texts, grounded.Passage{Quote: c.Body})
		}
	}
	return texts, nil
}

// forget deletes the mail that an answer cites.
func (s *story) forget(ctx context.Context, a *client.Answer) error {
	if len(a.Citations) == 0 || a.Entry == nil {
		s.expect(false, "the first answer has no citation, or was not stored")
		return nil
	}
	from, entry := a.Citations[0].Document, *a.Entry
	mail, err := s.api.GetDocumentWithResponse(ctx, link.DefaultSpace, from)
	if err != nil || mail.JSON200 == nil {
		return requestError("reading the mail", mail, err)
	}
	s.say("Deleting the mail that the first answer cites, %q.", mail.JSON200.Title)
	got, err := s.api.DeleteDocumentWithResponse(ctx, link.DefaultSpace, from, &client.DeleteDocumentParams{CleanUp: new(true)})
	if err != nil || got.JSON200 == nil {
		return requestError("deleting the mail", got, err)
	}
	r := got.JSON200
	s.report.Receipt = r
	s.say("  Deleted: documents %d, chunks %d, slices %d (%d bytes), stored answers %d, questions of the history %d, summaries %d, predicted questions %d.",
		r.Documents, r.Chunks, r.Slices, r.SliceBytes, r.Entries, r.History, r.Summaries, r.Predictions)
	if r.CleanedUp {
		s.say("  No file of the data folder contains it any longer.")
	}
	if mail, err = s.api.GetDocumentWithResponse(ctx, link.DefaultSpace, from); err != nil {
		return requestError("reading the mail", mail, err)
	}
	stored, err := s.api.GetEntryWithResponse(ctx, link.DefaultSpace, entry)
	if err != nil {
		return requestError("reading the stored answer", stored, err)
	}
	s.expect(r.CleanedUp, "bytes of the deleted mail are still on the disk")
	s.expect(mail.StatusCode() == http.StatusNotFound, "the deleted mail still exists")
	s.expect(stored.StatusCode() == http.StatusNotFound, "the answer from the deleted mail is still stored")
	return nil
}

func (s *story) say(format string, args ...any) { cmdline.Say(s.out, format, args...) }

// requestError is the error of a failed request.
func requestError(what string, got interface{ StatusCode() int }, err error) error {
	return fault.New(fault.Internal, "percached: demo", what+": %w", child.Failure(err, got))
}
