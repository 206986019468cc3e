package demo

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached/internal/child"
	"github.com/percached/percached/internal/link"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/answer/grounded"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
)

// What is asked, of the questions in models/demo.
const (
	Question       = "What is the budget for Heron?"
	demoOtherWords = "What budget does Heron have?"
	OtherName      = "What is the budget for Sandpiper?"
)

// story is the demo as it goes on.
type story struct {
	api        *client.ClientWithResponses
	out        io.Writer // told what happens
	predicting time.Duration
	report     Report
}

// tell goes through all of it. An error says that it cannot go on; what did not
// come as it must is in the report.
func (s *story) tell(ctx context.Context) error {
	if err := s.takeIn(ctx); err != nil {
		return err
	}
	s.say("Asking for the first time: nothing is stored, and the model reads all of its prompt.")
	first, err := s.ask(ctx, "first time", client.Question{Question: Question})
	if err != nil {
		return err
	}
	s.must(first.Outcome == client.OutcomeMiss, "the first question was a %s, and nothing can have been stored for it", first.Outcome)
	s.say("Asking about another name: another's answer must not be given for it.")
	other, err := s.ask(ctx, "another name", client.Question{Question: OtherName})
	if err != nil {
		return err
	}
	s.must(other.Outcome != client.OutcomeAnswerHit, "a question about one name got the stored answer of another")
	if err := s.predict(ctx); err != nil {
		return err
	}
	s.say("Asking the first question in other words: the stored answer serves.")
	again, err := s.ask(ctx, "other words", client.Question{Question: demoOtherWords})
	if err != nil {
		return err
	}
	s.must(again.Outcome == client.OutcomeAnswerHit && again.Answer == first.Answer, "the stored answer was not given when the question came in other words: %s", again.Gate.Why)
	if err := s.askPredicted(ctx); err != nil {
		return err
	}
	s.say("Asking past the stored answer: the tensors of the chunks are loaded, and only the question is computed.")
	warm, err := s.ask(ctx, "tensors alone", client.Question{Question: Question, Bypass: new(true)})
	if err != nil {
		return err
	}
	s.must(warm.Outcome == client.OutcomeTensorHit && warm.Tokens.Reused > 0, "the stored tensors were not used: it was a %s", warm.Outcome)
	s.must(warm.Answer == first.Answer, "stored tensors gave another answer than none")
	if err := s.forget(ctx, first); err != nil {
		return err
	}
	s.say("Asking the first question again. The model answers from what is left, or makes something up.")
	last, err := s.ask(ctx, "mail deleted", client.Question{Question: Question})
	if err == nil {
		s.must(last.Outcome != client.OutcomeAnswerHit, "a stored answer was given after the mail was deleted")
	}
	return err
}

// ask asks a question, tells what came of it and enters that in the table.
func (s *story) ask(ctx context.Context, step string, q client.Question) (*client.Answer, error) {
	began := time.Now()
	got, err := s.api.AskWithResponse(ctx, link.DefaultSpace, q)
	if err != nil || got.JSON200 == nil {
		return nil, unanswered("asking", got, err)
	}
	a := got.JSON200
	row := demoRow{
		Step: step, Question: q.Question, Ms: float64(time.Since(began)) / float64(time.Millisecond), Outcome: string(a.Outcome),
		Reused: a.Tokens.Reused, Prompt: a.Tokens.Prompt, Answer: a.Answer, Refused: a.Refused,
	}
	s.report.Questions = append(s.report.Questions, row)
	s.say("  %s", q.Question)
	s.say("  %s (%s, %.1f ms)", short(row.Answer), row.Outcome, row.Ms)
	return a, nil
}

// askPredicted asks a question that was predicted and answered, if there is one.
func (s *story) askPredicted(ctx context.Context) error {
	predicted, err := s.api.ListPredictionsWithResponse(ctx, link.DefaultSpace)
	if err != nil || predicted.JSON200 == nil {
		return unanswered("listing predictions", predicted, err)
	}
	entries, err := s.api.ListEntriesWithResponse(ctx, link.DefaultSpace, &client.ListEntriesParams{Limit: new(1000)})
	if err != nil || entries.JSON200 == nil {
		return unanswered("listing stored answers", entries, err)
	}
	answers := map[string]string{}
	for _, e := range entries.JSON200.Entries {
		if e.Origin == client.OriginPredicted && e.Answered && !e.Refused && !e.Stale {
			answers[e.Question] = e.Answer
		}
	}
	ready := slices.DeleteFunc(predicted.JSON200.Predictions, func(p client.Prediction) bool { return answers[p.Question] == "" })
	if len(ready) == 0 {
		s.say("None of the predicted questions has an answer, so none is asked.")
		return nil
	}
	texts, err := s.texts(ctx)
	if err != nil {
		return err
	}
	told := map[string]float64{}
	for _, p := range ready {
		if best, ok := grounded.Best(p.Question, texts); ok {
			told[p.Question] = grounded.Share(p.Question+" "+answers[p.Question], best.Text)
		}
	}
	// One whose words and whose answer stand in a sentence makes sense to a reader, too.
	p := slices.MinFunc(ready, func(a, b client.Prediction) int {
		return cmp.Or(cmp.Compare(told[b.Question], told[a.Question]), len(a.Question)-len(b.Question), strings.Compare(a.Question, b.Question))
	})
	s.say("Asking what nobody asked yet: idle work has predicted and answered it.")
	a, err := s.ask(ctx, "predicted", client.Question{Question: p.Question})
	if err == nil {
		s.must(a.Outcome == client.OutcomeAnswerHit, "the answer that was ready for a predicted question was not given: %s", a.Gate.Why)
	}
	return err
}

// texts are all documents.
func (s *story) texts(ctx context.Context) (texts []grounded.Passage, err error) {
	all, err := s.api.ListDocumentsWithResponse(ctx, link.DefaultSpace, &client.ListDocumentsParams{Limit: new(1000)})
	if err != nil || all.JSON200 == nil {
		return nil, unanswered("listing documents", all, err)
	}
	for _, d := range all.JSON200.Documents {
		got, err := s.api.GetDocumentWithResponse(ctx, link.DefaultSpace, d.ID)
		if err != nil || got.JSON200 == nil {
			return nil, unanswered("reading a document", got, err)
		}
		for _, c := range got.JSON200.Text {
			texts = append(texts, grounded.Passage{Quote: c.Body})
		}
	}
	return texts, nil
}

// forget deletes the mail that an answer rests on.
func (s *story) forget(ctx context.Context, a *client.Answer) error {
	if len(a.Citations) == 0 || a.Entry == nil {
		s.must(false, "the first answer names nothing that it rests on, or was not stored")
		return nil
	}
	from, entry := a.Citations[0].Document, *a.Entry
	mail, err := s.api.GetDocumentWithResponse(ctx, link.DefaultSpace, from)
	if err != nil || mail.JSON200 == nil {
		return unanswered("reading the mail", mail, err)
	}
	s.say("Deleting the mail that the first answer rests on, %q.", mail.JSON200.Title)
	got, err := s.api.DeleteDocumentWithResponse(ctx, link.DefaultSpace, from, &client.DeleteDocumentParams{CleanUp: new(true)})
	if err != nil || got.JSON200 == nil {
		return unanswered("deleting the mail", got, err)
	}
	r := got.JSON200
	s.report.Receipt = r
	s.say("  Forgotten: documents %d, chunks %d, slices %d (%d bytes), stored answers %d, questions of the history %d, summaries %d, predicted questions %d.",
		r.Documents, r.Chunks, r.Slices, r.SliceBytes, r.Entries, r.History, r.Summaries, r.Predictions)
	if r.CleanedUp {
		s.say("  No file of the data folder holds any of it any more.")
	}
	if mail, err = s.api.GetDocumentWithResponse(ctx, link.DefaultSpace, from); err != nil {
		return unanswered("reading the mail", mail, err)
	}
	stored, err := s.api.GetEntryWithResponse(ctx, link.DefaultSpace, entry)
	if err != nil {
		return unanswered("reading the stored answer", stored, err)
	}
	s.must(r.CleanedUp, "bytes of the deleted mail are still on the disk")
	s.must(mail.StatusCode() == http.StatusNotFound, "the deleted mail is still there")
	s.must(stored.StatusCode() == http.StatusNotFound, "the answer from the deleted mail is still stored")
	return nil
}

func (s *story) say(format string, args ...any) { cmdline.Say(s.out, format, args...) }

// unanswered is why a request did not get what it was sent for.
func unanswered(what string, got interface{ StatusCode() int }, err error) error {
	return fault.New(fault.Internal, "percached: demo", what+": %w", child.Failure(err, got))
}
