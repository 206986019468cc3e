package demo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"mime/multipart"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/link"
	"github.com/percached/percached/models/demo"
)

// predictSay is how often it is told how far prediction is.
const predictSay = 2 * time.Second

// takeIn uploads the invented inbox.
func (s *story) takeIn(ctx context.Context) error {
	s.say("Taking in an invented inbox: mails and meetings.")
	began := time.Now()
	// Else it might get the first question's tensors ready before that is asked.
	paused, err := s.api.PauseIdleWithResponse(ctx)
	if err != nil || paused.JSON200 == nil {
		return unanswered("having idle work wait", paused, err)
	}
	made, err := s.api.CreateSpaceWithResponse(ctx, client.NewSpace{Name: link.DefaultSpace, Kind: new(client.SpaceKindEmails)})
	if err != nil || made.JSON201 == nil {
		return unanswered("making a space", made, err)
	}
	body, kind, err := inboxForm()
	if err != nil {
		return err
	}
	got, err := s.api.UploadWithBodyWithResponse(ctx, link.DefaultSpace, &client.UploadParams{Wait: new(true)}, kind, body)
	if err != nil || got.JSON200 == nil {
		return unanswered("taking in the inbox", got, err)
	}
	u := got.JSON200
	s.report.Documents, s.report.Chunks = u.Added, u.Chunks
	s.must(u.Added > 0 && u.Failed == 0, "%d documents could not be taken in", u.Failed)
	s.say("  %d documents, %d chunks, in %s.", u.Added, u.Chunks, span(time.Since(began)))
	return nil
}

// inboxForm is the inbox as a form sends files.
func inboxForm() (io.Reader, string, error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	inbox := demo.Inbox()
	err := fs.WalkDir(inbox, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := fs.ReadFile(inbox, path)
		if err != nil {
			return err
		}
		part, err := form.CreateFormFile("file", path)
		if err == nil {
			_, err = part.Write(content)
		}
		return err
	})
	if err = errors.Join(err, form.Close()); err != nil {
		return nil, "", fault.New(fault.Internal, "percached: demo", "%w", err)
	}
	return &body, form.FormDataContentType(), nil
}

// predict has idle work done at once: chunks are summed up, questions predicted,
// and answers to them made ready.
func (s *story) predict(ctx context.Context) error {
	s.say("Nobody asks: idle work sums up the chunks, predicts questions and makes their answers ready.")
	began := time.Now()
	resumed, err := s.api.ResumeIdleWithResponse(ctx)
	if err != nil || resumed.JSON200 == nil {
		return unanswered("having idle work go on", resumed, err)
	}
	within, cancel := context.WithTimeout(ctx, s.predicting)
	defer cancel()
	type end struct {
		got *client.PredictResponse
		err error
	}
	ended := make(chan end, 1)
	go func() {
		got, err := s.api.PredictWithResponse(within, link.DefaultSpace)
		ended <- end{got, err}
	}()
	tick := time.NewTicker(predictSay)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			st, err := s.predicted(ctx)
			if err != nil {
				cancel()
				<-ended
				return err
			}
			s.say("  %s: %d of %d chunks summed up, %d questions predicted, %d ready", span(time.Since(began)), st.Summaries, s.report.Chunks, st.Predictions, st.Populated)
		case e := <-ended:
			late := within.Err() != nil && ctx.Err() == nil
			if !late && (e.err != nil || e.got.JSON200 == nil) {
				return unanswered("predicting", e.got, e.err)
			}
			return s.foretold(ctx, began, late)
		}
	}
}

// foretold tells what came of prediction.
func (s *story) foretold(ctx context.Context, began time.Time, late bool) error {
	st, err := s.predicted(ctx)
	if err != nil {
		return err
	}
	took := time.Since(began)
	s.report.Prediction = demoPrediction{Seconds: took.Seconds(), Complete: !late, Summaries: st.Summaries, Predicted: st.Predictions, Ready: st.Populated}
	s.say("  %d questions predicted, %d of them ready, in %s.", st.Predictions, st.Populated, span(took))
	if late {
		s.say("  It was stopped there, to keep the demo short. What was done stays done.")
		return nil
	}
	s.must(st.Populated > 0, "idle work got ready for no question")
	return nil
}

func (s *story) predicted(ctx context.Context) (client.PredictionStats, error) {
	got, err := s.api.ListPredictionsWithResponse(ctx, link.DefaultSpace)
	if err != nil || got.JSON200 == nil {
		return client.PredictionStats{}, unanswered("listing predictions", got, err)
	}
	return got.JSON200.Stats, nil
}
