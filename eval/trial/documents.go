package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
)

// Files are sent in portions, so that no upload exceeds percached's limits.
const (
	portionFiles = 500
	portionBytes = 64 << 20
)

// addFiles adds the documents to a space; if most is not 0, only the last files. The files
// with answers are among those.
func (u *unit) addFiles(ctx context.Context, space string, most int) (in client.UploadStatus, err error) {
	rest := u.set.Files
	if most > 0 {
		rest = rest[max(0, len(rest)-most):]
	}
	for len(rest) > 0 {
		n, bytes := 1, rest[0].Size
		for n < len(rest) && n < portionFiles && bytes+rest[n].Size <= portionBytes {
			bytes += rest[n].Size
			n++
		}
		part, err := u.upload(ctx, space, rest[:n])
		if err != nil {
			return in, err
		}
		in.Chunks += part.Chunks
		in.Failures, in.LeftOut = append(in.Failures, part.Failures...), append(in.LeftOut, part.LeftOut...)
		rest = rest[n:]
	}
	return in, nil
}

// upload sends files and waits until percached has added them.
func (u *unit) upload(ctx context.Context, space string, files []eval.File) (client.UploadStatus, error) {
	body, to := io.Pipe()
	form := multipart.NewWriter(to)
	sent := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < len(files) && err == nil; i++ {
			err = send(form, files[i])
		}
		err = errors.Join(err, form.Close())
		to.CloseWithError(err) // nil ends the body normally
		sent <- err
	}()
	got, err := call[client.UploadStatus](u.api.UploadWithBody(ctx, space, &client.UploadParams{Wait: new(true)}, form.FormDataContentType(), body))
	body.CloseWithError(io.ErrClosedPipe) // percached may refuse before the end of the body
	if broken := <-sent; broken != nil && !errors.Is(broken, io.ErrClosedPipe) {
		return got, broken
	}
	if err == nil && got.State == client.UploadStateFailed {
		err = errors.New("the upload failed")
	}
	return got, err
}

// send writes a file into a form.
func send(form *multipart.Writer, f eval.File) error {
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // nothing was written
	part, err := form.CreateFormFile("files", f.Name)
	if err == nil {
		_, err = io.Copy(part, in)
	}
	return err
}

// findAnswerChunks finds for each question the chunks of the documents with its answer,
// with the IDs of the system's space.
func (u *unit) findAnswerChunks(ctx context.Context, s *system) error {
	chunks := map[string][]string{} // by file, for files with answers
	count := 0
	for params := (client.ListDocumentsParams{Limit: new(1000)}); ; {
		page, err := call[client.Documents](u.api.ListDocuments(ctx, s.space, &params))
		if err != nil {
			return err
		}
		for _, d := range page.Documents {
			count++
			if d.Path == nil || !u.hasAnswer(*d.Path) {
				continue
			}
			whole, err := call[client.DocumentText](u.api.GetDocument(ctx, s.space, d.ID))
			if err != nil {
				return err
			}
			for _, c := range whole.Text {
				chunks[*d.Path] = append(chunks[*d.Path], c.Chunk)
			}
		}
		if params.After = page.Next; params.After == nil {
			break
		}
	}
	u.Documents = count
	for _, q := range u.set.Questions {
		for file, ids := range chunks {
			for _, id := range ids {
				if answeredBy(q, file) {
					if s.answerChunks[q.Number] == nil {
						s.answerChunks[q.Number] = map[string]bool{}
					}
					s.answerChunks[q.Number][id] = true
				}
			}
		}
	}
	return nil
}

// hasAnswer says whether a question names a file as the one with its answer.
func (u *unit) hasAnswer(file string) bool {
	for _, q := range u.set.Questions {
		if answeredBy(q, file) {
			return true
		}
	}
	return false
}

// answeredBy says whether a question names a file as the one with its answer: by the end
// of the file's path.
func answeredBy(q eval.Question, file string) bool {
	return q.Document != "" && strings.HasSuffix("/"+file, "/"+strings.TrimPrefix(q.Document, "/"))
}

// call decodes the response of an operation, or returns its error.
func call[T any](resp *http.Response, err error) (got T, _ error) {
	if err != nil {
		return got, err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing was written
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = client.Failed(resp.StatusCode, body)
	}
	if err != nil || resp.StatusCode == http.StatusNoContent {
		return got, err
	}
	if err := json.Unmarshal(body, &got); err != nil {
		return got, fmt.Errorf("cannot decode the response: %w", err)
	}
	return got, nil
}

// ignored is the response of an operation whose response is not needed.
type ignored = json.RawMessage
