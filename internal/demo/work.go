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

// progressInterval is the time between two progress lines of prediction.
const progressInterval = 2 * time.Second

// addInbox uploads the invented inbox.
func (s *story) addInbox(ctx context.Context) error {
	s.say("Adding an invented inbox: mails and meetings.")
	began := time.Now()
	// Otherwise idle work might prepare tensors before the first question.
	paused, err := s.api.PauseIdleWithResponse(ctx)
	if err != nil || paused.JSON200 == nil {
		return requestError("pausing idle work", paused, err)
	}
	made, err := s.api.CreateSpaceWithResponse(ctx, client.NewSpace{Name: link.DefaultSpace, Kind: new(client.SpaceKindEmails)})
	if err != nil || made.JSON201 == nil {
		return requestError("creating a space", made, err)
	}
	body, kind, err := inboxUpload()
	if err != nil {
		return err
	}
	got, err := s.api.UploadWithBodyWithResponse(ctx, link.DefaultSpace, &client.UploadParams{Wait: new(true)}, kind, body)
	if err != nil || got.JSON200 == nil {
		return requestError("adding the inbox", got, err)
	}
	u := got.JSON200
	s.report.Documents, s.report.Chunks = u.Added, u.Chunks
	s.expect(u.Added > 0 && u.Failed == 0, "%d documents could not be added", u.Failed)
	s.say("  %d documents, %d chunks, in %s.", u.Added, u.Chunks, seconds(time.Since(began)))
	return nil
}

// inboxUpload is the inbox as a multipart form.
func inboxUpload() (io.Reader, string, error) {
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

// predict runs idle work now: it summarises chunks, predicts questions and answers them.
func (s *story) predict(ctx context.Context) error {
	s.say("Running idle work: it summarises the chunks, predicts questions and prepares answers.")
	began := time.Now()
	resumed, err := s.api.ResumeIdleWithResponse(ctx)
	if err != nil || resumed.JSON200 == nil {
		return requestError("resuming idle work", resumed, err)
	}
	within, cancel := context.WithTimeout(ctx, s.predictionTime)
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
	tick := time.NewTicker(progressInterval)
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
			s.say("  %s: %d of %d chunks summarised, %d questions predicted, %d ready", seconds(time.Since(began)), st.Summaries, s.report.Chunks, st.Predictions, st.Populated)
		case e := <-ended:
			late := within.Err() != nil && ctx.Err() == nil
			if !late && (e.err != nil || e.got.JSON200 == nil) {
				return requestError("predicting", e.got, e.err)
			}
			return s.reportPrediction(ctx, began, late)
		}
	}
}

// reportPrediction prints and reports the result of prediction.
func (s *story) reportPrediction(ctx context.Context, began time.Time, late bool) error {
	st, err := s.predicted(ctx)
	if err != nil {
		return err
	}
	took := time.Since(began)
	s.report.Prediction = prediction{Seconds: took.Seconds(), Complete: !late, Summaries: st.Summaries, Predicted: st.Predictions, Ready: st.Populated}
	s.say("  %d questions predicted, %d of them ready, in %s.", st.Predictions, st.Populated, seconds(took))
	if late {
		s.say("  Stopped here to keep the demo short.")
		return nil
	}
	s.expect(st.Populated > 0, "idle work prepared no question")
	return nil
}

func (s *story) predicted(ctx context.Context) (client.PredictionStats, error) {
	got, err := s.api.ListPredictionsWithResponse(ctx, link.DefaultSpace)
	if err != nil || got.JSON200 == nil {
		return client.PredictionStats{}, requestError("listing predictions", got, err)
	}
	return got.JSON200.Stats, nil
}
