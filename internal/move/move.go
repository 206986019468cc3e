package move

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/percached/percached/api/client"
	"github.com/percached/percached/internal/backup"
	"github.com/percached/percached/internal/base/cmdline"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/link"
)

// Export requests the export of a space.
func Export(ctx context.Context, l *link.Link, space string) (io.ReadCloser, error) {
	resp, err := l.ExportSpace(ctx, space, nil)
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
	got, err := l.ImportSpaceWithBodyWithResponse(ctx, space, nil, kind, archive)
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

// Run moves the space. After an error it is as before, or the error says what is left.
func (m *Move) Run(ctx context.Context) (Moved, error) {
	before, err := m.settings(ctx)
	if err != nil {
		return Moved{}, err
	}
	if to := before.MovedTo; to != nil && *to != "" { // the copy here is old
		return Moved{}, fault.New(fault.Conflict, "percached: move", "the space was moved to %s already; move it from there", *to)
	}
	reset := map[string]any{"read_only": before.ReadOnly}
	out, copied, err := m.copyFrozen(ctx)
	if refused, ok := errors.AsType[notFrozen](err); ok { // nothing was changed
		return out, refused.error
	}
	if err == nil {
		reset["moved_to"] = nil
		var known bool
		if known, err = m.redirect(ctx, before); !known || err == nil {
			return out, err
		}
	}
	return out, errors.Join(err, m.undo(context.WithoutCancel(ctx), reset, copied))
}

// notFrozen says that the daemon refused to make the space read-only.
type notFrozen struct{ error }

// copyFrozen makes the space read-only and copies it. It says whether the other daemon has a
// copy, which may be wrong.
func (m *Move) copyFrozen(ctx context.Context) (out Moved, copied bool, err error) {
	if err := m.freeze(ctx); err != nil {
		return out, false, err
	}
	if err := m.awaitUploads(ctx); err != nil {
		return out, false, err
	}
	out, imported, err := m.copy(ctx)
	if err != nil {
		return out, false, err
	}
	return out, true, m.compare(ctx, out, imported)
}

// freeze makes the space read-only and waits for the changes in progress. If there is no
// response in time but the daemon responds to others, a change still runs.
func (m *Move) freeze(ctx context.Context) error {
	done := cmdline.Waiting(m.Stderr, "waiting for changes in progress")
	defer done()
	for first := true; ; first = false {
		err := m.set(ctx, map[string]any{"read_only": true})
		if p, ok := errors.AsType[*client.ProblemError](err); ok && first && p.Problem.Status < http.StatusInternalServerError {
			return notFrozen{err}
		}
		if fault.KindOf(err) != fault.Timeout || ctx.Err() != nil {
			return err
		}
		if _, err := m.settings(ctx); err != nil {
			return err
		}
	}
}

// redirect has the daemon redirect clients. Only the response may have been lost: then the space
// is moved, and clients may have changed it there. It says whether it is known which node has
// the space.
func (m *Move) redirect(ctx context.Context, before client.Settings) (known bool, err error) {
	err = m.set(ctx, map[string]any{"moved_to": m.Redirect, "read_only": before.ReadOnly})
	if err == nil {
		return true, nil
	}
	now, unread := m.settings(context.WithoutCancel(ctx))
	switch {
	case unread != nil:
		return false, errors.Join(err, fault.New(fault.Unavailable, "percached: move",
			"it is unknown whether the space is moved, and both daemons have it; look at its setting moved_to here: if it is set, the space is moved; otherwise reset it with percached spaces set %s read_only= moved_to= and delete the copy at the other daemon (%s)",
			m.Space, cmdline.Sentence(unread)))
	case now.MovedTo != nil && *now.MovedTo == m.Redirect:
		return true, nil
	}
	return true, err
}

// undo resets settings of the space and deletes the copy. The copy stays if the settings could
// not be reset: clients may be redirected to it.
func (m *Move) undo(ctx context.Context, reset map[string]any, copied bool) error {
	left := m.set(ctx, reset)
	switch {
	case left != nil && copied:
		return fault.New(fault.Unavailable, "percached: move", "the space is still read-only; reset it with percached spaces set %s read_only= moved_to= and delete the copy at the other daemon (%s)", m.Space, cmdline.Sentence(left))
	case left != nil:
		return fault.New(fault.Unavailable, "percached: move", "the space is still read-only; reset it with percached spaces set %s read_only= (%s)", m.Space, cmdline.Sentence(left))
	case !copied:
		return nil
	}
	if _, left := m.To.DeleteSpaceWithResponse(ctx, m.Space, nil); left != nil {
		return fault.New(fault.Unavailable, "percached: move", "the other daemon still has a copy; delete it there (%s)", cmdline.Sentence(left))
	}
	return nil
}

// settings returns the settings of the space here.
func (m *Move) settings(ctx context.Context) (client.Settings, error) {
	sp, err := m.From.GetSpaceWithResponse(ctx, m.Space)
	if err != nil {
		return client.Settings{}, err
	}
	return sp.JSON200.Settings, nil
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
func (m *Move) copy(ctx context.Context) (out Moved, imported client.Space, err error) {
	out = Moved{Space: m.Space, To: m.Redirect}
	done := cmdline.Waiting(m.Stderr, "copying the space")
	defer done()
	body, err := Export(ctx, m.From, m.Space)
	if err != nil {
		return out, imported, err
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
	imported, err = Import(ctx, m.To, m.Space, r)
	r.CloseWithError(err)
	<-counted
	if out.Documents == 0 { // it is encrypted
		out.Documents = header.Documents
	}
	if err != nil {
		err = errors.Join(err, m.checkNotThere(context.WithoutCancel(ctx), err))
	}
	return out, imported, err
}

// checkNotThere returns an error if an import that failed may have left a copy: its response may
// have been lost. It deletes none, because a space of that name may be another one.
func (m *Move) checkNotThere(ctx context.Context, failed error) error {
	if hasStatus(failed, http.StatusConflict) { // nothing was imported
		return nil
	}
	_, err := m.To.GetSpaceWithResponse(ctx, m.Space)
	if hasStatus(err, http.StatusNotFound) {
		return nil
	}
	return fault.New(fault.Unavailable, "percached: move", "the other daemon may have a copy of the space; look at it there, and delete it before you move the space again")
}

func hasStatus(err error, status int) bool {
	p, ok := errors.AsType[*client.ProblemError](err)
	return ok && p.Problem.Status == status
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

// compare compares the copy, as it was when imported, with what was exported. Idle work may have
// added answers since.
func (m *Move) compare(ctx context.Context, exported Moved, imported client.Space) error {
	one := 1
	bank, err := m.To.ListEntriesWithResponse(ctx, m.Space, &client.ListEntriesParams{Limit: &one})
	if err != nil {
		return err
	}
	answers := 0
	if b := bank.JSON200.Bank; b != nil {
		answers = b.Entries
	}
	chunks := imported.Chunks
	if exported.Chunks == 0 { // it is encrypted, and only the documents were counted
		chunks = 0
	}
	if imported.Documents != exported.Documents || chunks != exported.Chunks || answers < exported.Answers {
		return fault.New(fault.Internal, "percached: move", "the copy has %d documents, %d chunks and %d answers instead of %d, %d and %d",
			imported.Documents, chunks, answers, exported.Documents, exported.Chunks, exported.Answers)
	}
	return nil
}
