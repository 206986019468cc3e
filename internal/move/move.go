package move

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/link"
)

// Export requests the export of a space.
func Export(ctx context.Context, l *link.Link, space string) (io.ReadCloser, error) {
	resp, err := l.ExportSpace(ctx, space)
	if err != nil {
		return nil, err
	}
	return resp.Body, nil
}

// Import sends an exported space to a daemon.
func Import(ctx context.Context, l *link.Link, space string, from io.Reader) (client.Space, error) {
	archive, kind := bufio.NewReader(from), "application/gzip"
	if backup.IsSealed(archive) {
		kind = "application/octet-stream"
	}
	got, err := l.ImportSpaceWithBodyWithResponse(ctx, space, kind, archive)
	if err != nil {
		return client.Space{}, err
	}
	return *got.JSON201, nil
}

// Move is the move of a space from one daemon to another.
type Move struct {
	From, To *link.Link
	Space    string
	// Redirect is the base URL to which From redirects clients.
	Redirect string
	Stderr   io.Writer // shows what takes long
}

// Moved says what was moved. Of an encrypted export only the documents are counted.
type Moved struct {
	Space     string `json:"space"`
	To        string `json:"to"`
	Documents int    `json:"documents"`
	Chunks    int    `json:"chunks"`
	Answers   int    `json:"answers"` // with those not yet answered
}

// Run moves the space. After an error it is as before.
func (m *Move) Run(ctx context.Context) (out Moved, err error) {
	if err := m.set(ctx, map[string]any{"read_only": true}); err != nil {
		return out, err
	}
	undo := context.WithoutCancel(ctx)
	defer func() {
		if err == nil {
			return
		}
		if left := m.set(undo, map[string]any{"read_only": nil, "moved_to": nil}); left != nil {
			err = errors.Join(err, fault.New(fault.Unavailable, "percached: move", "the space is still read-only; reset it with percached spaces set %s read_only= (%s)", m.Space, cmdline.Sentence(left)))
		}
	}()
	if err := m.awaitUploads(ctx); err != nil {
		return out, err
	}
	if out, err = m.copy(ctx); err != nil {
		return out, err
	}
	err = m.compare(ctx, out)
	if err == nil {
		err = m.redirect(ctx)
	}
	if err != nil {
		if _, left := m.To.DeleteSpaceWithResponse(undo, m.Space, nil); left != nil {
			err = errors.Join(err, fault.New(fault.Unavailable, "percached: move", "the other daemon still has a copy; delete it there (%s)", cmdline.Sentence(left)))
		}
	}
	return out, err
}

// redirect has the daemon redirect clients. Only the response may have been lost: then the space
// is moved, and clients may have changed it there.
func (m *Move) redirect(ctx context.Context) error {
	err := m.set(ctx, map[string]any{"moved_to": m.Redirect, "read_only": nil})
	if err == nil {
		return nil
	}
	sp, unread := m.From.GetSpaceWithResponse(context.WithoutCancel(ctx), m.Space)
	if unread == nil && sp.JSON200.Settings.MovedTo != nil && *sp.JSON200.Settings.MovedTo == m.Redirect {
		return nil
	}
	return err
}

// set changes settings of the space here.
func (m *Move) set(ctx context.Context, settings map[string]any) error {
	patch, err := json.Marshal(settings)
	if err != nil {
		return err
	}
	_, err = m.From.ChangeSpaceWithBodyWithResponse(ctx, m.Space, "application/merge-patch+json", bytes.NewReader(patch))
	return err
}

// awaitUploads waits until no upload of the space is waiting.
func (m *Move) awaitUploads(ctx context.Context) error {
	const longest = time.Second
	done := cmdline.Waiting(m.Stderr, "waiting for uploads")
	defer done()
	for wait := time.Millisecond; ; wait = min(2*wait, longest) {
		busy, err := m.uploading(ctx)
		if err != nil || !busy {
			return err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (m *Move) uploading(ctx context.Context) (bool, error) {
	limit := 100
	for p := (client.ListUploadsParams{Limit: &limit}); ; {
		r, err := m.From.ListUploadsWithResponse(ctx, m.Space, &p)
		if err != nil {
			return false, err
		}
		for _, u := range r.JSON200.Uploads {
			if u.State == client.UploadStateQueued || u.State == client.UploadStateRunning {
				return true, nil
			}
		}
		if p.After = r.JSON200.Next; p.After == nil || *p.After == "" {
			return false, nil
		}
	}
}

// copy sends the export of the space to the other daemon. It verifies and counts it on the way.
func (m *Move) copy(ctx context.Context) (Moved, error) {
	out := Moved{Space: m.Space, To: m.Redirect}
	done := cmdline.Waiting(m.Stderr, "copying the space")
	defer done()
	body, err := Export(ctx, m.From, m.Space)
	if err != nil {
		return out, err
	}
	defer body.Close() //nolint:errcheck // it was read
	r, w := io.Pipe()
	counted := make(chan struct{})
	var header backup.Header
	go func() {
		defer close(counted)
		var err error
		header, err = backup.Read(io.TeeReader(body, w), backup.Target{Record: func(key, _ []byte) error {
			out.count(key)
			return nil
		}})
		w.CloseWithError(err)
	}()
	_, err = Import(ctx, m.To, m.Space, r)
	r.CloseWithError(err)
	<-counted
	if out.Documents == 0 { // it is encrypted
		out.Documents = header.Documents
	}
	return out, err
}

// count counts a record of an export; internal/backup/FORMAT.md lists the kinds.
func (o *Moved) count(key []byte) {
	switch {
	case bytes.HasPrefix(key, []byte("KD")):
		o.Documents++
	case bytes.HasPrefix(key, []byte("KC")):
		o.Chunks++
	case bytes.HasPrefix(key, []byte("Qe")):
		o.Answers++
	}
}

// compare compares the copy with what was exported.
func (m *Move) compare(ctx context.Context, exported Moved) error {
	sp, err := m.To.GetSpaceWithResponse(ctx, m.Space)
	if err != nil {
		return err
	}
	one := 1
	bank, err := m.To.ListEntriesWithResponse(ctx, m.Space, &client.ListEntriesParams{Limit: &one})
	if err != nil {
		return err
	}
	got := Moved{Space: m.Space, To: m.Redirect, Documents: sp.JSON200.Documents}
	if exported.Chunks > 0 { // else it is encrypted, and nothing else was counted
		got.Chunks = sp.JSON200.Chunks
		if b := bank.JSON200.Bank; b != nil {
			got.Answers = b.Entries
		}
	}
	if got != exported {
		return fault.New(fault.Internal, "percached: move", "the copy has %d documents, %d chunks and %d answers instead of %d, %d and %d",
			got.Documents, got.Chunks, got.Answers, exported.Documents, exported.Chunks, exported.Answers)
	}
	return nil
}
