package cli

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
	"os"
	"time"

	"github.com/percached/percached/api/client"
)

// send sends files in one upload; nil if none of them can be opened any more.
func (a *addition) send(ctx context.Context, files []found) (*client.UploadStatus, error) {
	first, rest := a.next(files)
	if first == nil {
		return nil, nil
	}
	body, to := io.Pipe()
	form := multipart.NewWriter(to)
	written := make(chan error, 1)
	go func() {
		var err error
		for in := first; in != nil && err == nil; in, rest = a.next(rest) {
			err = part(form, in)
		}
		if err == nil {
			err = form.Close()
		}
		to.CloseWithError(err)
		written <- err
	}()
	r, err := a.UploadWithBodyWithResponse(ctx, a.space, &client.UploadParams{}, form.FormDataContentType(), body)
	body.CloseWithError(io.ErrClosedPipe) // if it was refused before its end
	if broken := <-written; broken != nil && !errors.Is(broken, io.ErrClosedPipe) {
		return nil, broken
	}
	if err != nil {
		return nil, err
	}
	return r.JSON202, nil
}

// next opens the first of the files that can be opened.
func (a *addition) next(files []found) (*os.File, []found) {
	for i, f := range files {
		in, err := os.Open(f.path)
		if err == nil {
			return in, files[i+1:]
		}
		a.failed(f.path, err)
	}
	return nil, nil
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

// follow waits until an upload has ended, and tells how far it is.
func (a *addition) follow(ctx context.Context, up *client.UploadStatus) (*client.UploadStatus, error) {
	const longest = 100 * time.Millisecond
	for wait := time.Millisecond; up.State == client.UploadStateQueued || up.State == client.UploadStateRunning; wait = min(2*wait, longest) {
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		r, err := a.GetUploadWithResponse(ctx, a.space, up.ID)
		if err != nil {
			return nil, err
		}
		up = r.JSON200
		a.tell(float64(a.done+up.ReadBytes) / float64(max(a.total, 1)))
	}
	return up, nil
}
