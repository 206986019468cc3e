package trial

import (
	"context"
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"os"
	"slices"
	"strings"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/eval"
)

// Files go in portions, so that no upload grows beyond what a percached takes.
const (
	portionFiles = 500
	portionBytes = 64 << 20
)

// fill takes the documents in.
func (t *trial) fill(ctx context.Context) error {
	paused, err := t.api.PauseIdleWithResponse(ctx)
	if err == nil {
		err = client.Failed(paused.StatusCode(), paused.Body)
	}
	if err != nil {
		return err
	}
	about := client.NewSpace{Name: space}
	if t.Kind != "" {
		about.Kind = new(client.SpaceKind(t.Kind))
	}
	made, err := t.api.CreateSpaceWithResponse(ctx, about)
	if err == nil {
		err = client.Failed(made.StatusCode(), made.Body)
	}
	if err != nil {
		return err
	}
	// A percached does not tell which file a document came from. So the files with
	// answers go first and alone, and what is new after each is what it made.
	wanted, rest := t.wanted()
	known := map[string]bool{}
	for _, f := range wanted {
		if err := t.upload(ctx, []eval.File{f}); err != nil {
			return err
		}
		all, err := t.documents(ctx)
		if err != nil {
			return err
		}
		t.made[f.Name] = map[string]bool{}
		for _, id := range all {
			if !known[id] {
				known[id], t.made[f.Name][id] = true, true
			}
		}
	}
	for len(rest) > 0 {
		n, bytes := 1, rest[0].Size
		for n < len(rest) && n < portionFiles && bytes+rest[n].Size <= portionBytes {
			bytes += rest[n].Size
			n++
		}
		if err := t.upload(ctx, rest[:n]); err != nil {
			return err
		}
		rest = rest[n:]
	}
	all, err := t.documents(ctx)
	t.report.Data.Documents = len(all)
	return err
}

// wanted are the files with the answers of questions, and rest are the others.
func (t *trial) wanted() (wanted, rest []eval.File) {
	for _, f := range t.Set.Files {
		if slices.ContainsFunc(t.questions, func(q eval.Question) bool { return names(q, f.Name) }) {
			wanted = append(wanted, f)
		} else {
			rest = append(rest, f)
		}
	}
	return wanted, rest
}

// names says whether a question names a file as the one with its answer: by the
// end of its name, from a slash on.
func names(q eval.Question, file string) bool {
	return q.Document != "" && strings.HasSuffix("/"+file, "/"+strings.TrimPrefix(q.Document, "/"))
}

// locate finds for each question the documents that hold its answer.
func (t *trial) locate() {
	for _, q := range t.questions {
		holders := map[string]bool{}
		for file, ids := range t.made {
			if names(q, file) {
				maps.Copy(holders, ids)
			}
		}
		if len(holders) > 0 {
			t.holders[q.Number] = holders
		} else if q.Document != "" {
			t.report.Data.Nowhere = append(t.report.Data.Nowhere, q.Number)
		}
	}
}

// upload sends some files and waits until they are in.
func (t *trial) upload(ctx context.Context, files []eval.File) error {
	body, to := io.Pipe()
	form := multipart.NewWriter(to)
	sent := make(chan error, 1)
	go func() {
		var err error
		for i := 0; i < len(files) && err == nil; i++ {
			err = send(form, files[i])
		}
		err = errors.Join(err, form.Close())
		to.CloseWithError(err) // nil ends the body well
		sent <- err
	}()
	got, err := t.api.UploadWithBodyWithResponse(ctx, space, &client.UploadParams{Wait: new(true)}, form.FormDataContentType(), body)
	body.CloseWithError(io.ErrClosedPipe) // if it was refused before its end
	if broken := <-sent; broken != nil && !errors.Is(broken, io.ErrClosedPipe) {
		return broken
	}
	if err == nil {
		err = client.Failed(got.StatusCode(), got.Body)
	}
	if err != nil {
		return err
	}
	u, d := got.JSON200, &t.report.Data
	if u == nil || u.State == client.UploadStateFailed {
		return errors.New("an upload failed as a whole")
	}
	d.Chunks += u.Chunks
	d.Unread = append(d.Unread, u.Failures...)
	d.LeftOut = append(d.LeftOut, u.LeftOut...)
	return nil
}

// send writes a file into a form.
func send(form *multipart.Writer, f eval.File) error {
	in, err := os.Open(f.Path)
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

// documents lists the ids of all documents.
func (t *trial) documents(ctx context.Context) (ids []string, err error) {
	for params := (client.ListDocumentsParams{Limit: new(1000)}); ; {
		got, err := t.api.ListDocumentsWithResponse(ctx, space, &params)
		if err == nil {
			err = client.Failed(got.StatusCode(), got.Body)
		}
		if err != nil {
			return nil, err
		}
		for _, d := range got.JSON200.Documents {
			ids = append(ids, d.ID)
		}
		if params.After = got.JSON200.Next; params.After == nil {
			return ids, nil
		}
	}
}
