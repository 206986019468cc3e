package main

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"slices"
	"time"

	"github.com/percached/percached/api/client"
)

// readError is a failed read of a file that could be opened.
type readError struct{ error }

func (e readError) Unwrap() error { return e.error }

// uploadFailed is the reason of an upload that percached does not try again.
type uploadFailed struct{ error }

// badFile says that a file caused the error, so other files may succeed.
func badFile(err error) bool {
	if errors.As(err, new(readError)) || errors.As(err, new(uploadFailed)) {
		return true
	}
	p, ok := errors.AsType[*client.ProblemError](err)
	return ok && slices.Contains([]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, p.Problem.Status)
}

// uploadQueue holds files to upload, and those that could not be opened.
type uploadQueue struct {
	files  []inputFile
	failed []client.Failure
}

// openFile is a file that is being sent.
type openFile struct {
	name string
	io.ReadCloser
}

// next opens the next file that can be opened, at the part to send. It returns nil if there
// is none.
func (q *uploadQueue) next() *openFile {
	for len(q.files) > 0 {
		f := q.files[0]
		q.files = q.files[1:]
		if f.in != nil {
			return &openFile{f.name, io.NopCloser(f.in)}
		}
		in, err := f.reader()
		if err == nil {
			return &openFile{f.name, in}
		}
		q.failed = append(q.failed, client.Failure{Name: f.name, Reason: reasonText(err)})
	}
	return nil
}

// reader opens a file at the part to send.
func (f *inputFile) reader() (io.ReadCloser, error) {
	if f.open != nil {
		return f.open()
	}
	in, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	if _, err := in.Seek(f.from, io.SeekStart); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// send uploads files in one request. It returns nil if no file can be opened.
func (a *addRun) send(ctx context.Context, files []inputFile) (*client.UploadStatus, error) {
	q := &uploadQueue{files: files}
	first := q.next()
	if first == nil {
		a.addUnsent(q.failed)
		return nil, nil
	}
	body, to := io.Pipe()
	form := multipart.NewWriter(to)
	written := make(chan error, 1)
	go func() {
		err := writePart(form, first)
		for err == nil {
			in := q.next()
			if in == nil {
				err = form.Close()
				break
			}
			err = writePart(form, in)
		}
		to.CloseWithError(err)
		written <- err
	}()
	r, err := a.UploadWithBodyWithResponse(ctx, a.space, &client.UploadParams{Again: optional(a.again)}, form.FormDataContentType(), body)
	body.CloseWithError(io.ErrClosedPipe) // if the daemon refused it before its end
	if broken := <-written; broken != nil && !errors.Is(broken, io.ErrClosedPipe) {
		return nil, readError{broken}
	}
	if err != nil {
		return nil, err
	}
	a.addUnsent(q.failed)
	return r.JSON202, nil
}

// writePart writes one file to the form, under its full path or the name of standard input.
func writePart(form *multipart.Writer, in *openFile) error {
	defer in.Close() //nolint:errcheck // nothing was written
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", mime.FormatMediaType("form-data", map[string]string{"name": "files", "filename": in.name}))
	h.Set("Content-Type", "application/octet-stream")
	w, err := form.CreatePart(h)
	if err == nil {
		_, err = io.Copy(w, in)
	}
	return err
}

// follow waits until an upload ends, and shows its progress. With an error it returns the
// last known status.
func (a *addRun) follow(ctx context.Context, up *client.UploadStatus) (*client.UploadStatus, error) {
	const longest = 100 * time.Millisecond
	for wait := time.Millisecond; up.State == client.UploadStateQueued || up.State == client.UploadStateRunning; wait = min(2*wait, longest) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return up, ctx.Err()
		}
		r, err := a.GetUploadWithResponse(ctx, a.space, up.ID)
		if err != nil {
			return up, err
		}
		up = r.JSON200
		a.progress(float64(a.done+up.ReadBytes) / float64(max(a.total, 1)))
	}
	return up, nil
}
