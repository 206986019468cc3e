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

// unreadable is a file that could be opened, and then not read to its end.
type unreadable struct{ error }

func (e unreadable) Unwrap() error { return e.error }

// spoilt: it was a file that kept an upload from being accepted, and not all that
// there is.
func spoilt(err error) bool {
	if errors.As(err, new(unreadable)) {
		return true
	}
	p, ok := errors.AsType[*client.ProblemError](err)
	return ok && slices.Contains([]int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity}, p.Problem.Status)
}

// unsent are files that are to be sent, and those that could not be opened.
type unsent struct {
	files  []found
	missed []client.Failure
}

// next opens the first of the files that can be opened; nil: none can.
func (q *unsent) next() *os.File {
	for len(q.files) > 0 {
		f := q.files[0]
		q.files = q.files[1:]
		in, err := os.Open(f.path)
		if err == nil {
			return in
		}
		q.missed = append(q.missed, client.Failure{Name: f.path, Reason: reason(err)})
	}
	return nil
}

// send sends files in one upload; nil if none of them can be opened any more.
func (a *addition) send(ctx context.Context, files []found) (*client.UploadStatus, error) {
	q := &unsent{files: files}
	first := q.next()
	if first == nil {
		a.missed(q.missed)
		return nil, nil
	}
	body, to := io.Pipe()
	form := multipart.NewWriter(to)
	written := make(chan error, 1)
	go func() {
		err := part(form, first)
		for err == nil {
			in := q.next()
			if in == nil {
				err = form.Close()
				break
			}
			err = part(form, in)
		}
		to.CloseWithError(err)
		written <- err
	}()
	r, err := a.UploadWithBodyWithResponse(ctx, a.space, &client.UploadParams{}, form.FormDataContentType(), body)
	body.CloseWithError(io.ErrClosedPipe) // if it was refused before its end
	if broken := <-written; broken != nil && !errors.Is(broken, io.ErrClosedPipe) {
		return nil, unreadable{broken}
	}
	if err != nil {
		return nil, err
	}
	a.missed(q.missed)
	return r.JSON202, nil
}

// part sends one file. It goes by its whole path.
func part(form *multipart.Writer, in *os.File) error {
	defer in.Close() //nolint:errcheck // nothing was written
	h := textproto.MIMEHeader{}
	h.Set("Content-Disposition", mime.FormatMediaType("form-data", map[string]string{"name": "files", "filename": in.Name()}))
	h.Set("Content-Type", "application/octet-stream")
	w, err := form.CreatePart(h)
	if err == nil {
		_, err = io.Copy(w, in)
	}
	return err
}

// follow waits until an upload has ended, and tells how far it is. With an error it
// gives how it stood the last time.
func (a *addition) follow(ctx context.Context, up *client.UploadStatus) (*client.UploadStatus, error) {
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
		a.tell(float64(a.done+up.ReadBytes) / float64(max(a.total, 1)))
	}
	return up, nil
}
