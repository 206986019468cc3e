package inbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"slices"

	"github.com/percached/percached/internal/base/fault"
)

// Accept takes what is sent: each calls take with one file after the other. When
// it returns without an error, the upload is durable and will be taken in. With
// an error of each, of take, or the end of ctx nothing of it is kept.
//
// A key, where there is one, names the upload: sent again with the same content it
// is the same upload, which is given as it stands; with another content, or while
// the first is still being sent, it is a Conflict.
func (in *Inbox) Accept(ctx context.Context, space, key string, each func(take Take) error) (Upload, error) {
	const op = "inbox.Accept"
	if len(key) > maxKey || !plain(key) {
		return Upload{}, fault.New(fault.Invalid, op, "a key has at most %d bytes and no control characters", maxKey)
	}
	s, err := in.begin(space, key)
	if err != nil {
		return Upload{}, fault.Wrap(op, err)
	}
	defer in.finish(s)
	// After begin, so that a space that goes now is either seen to be gone, or
	// DropSpace sees what is being sent.
	if _, err := in.o.Spaces.Space(space); err != nil {
		return Upload{}, fault.Wrap(op, err)
	}
	if err := s.receive(ctx, each); err != nil {
		return Upload{}, fault.Wrap(op, err)
	}
	if s.known != nil {
		u, err := in.same(s)
		return u, fault.Wrap(op, err)
	}
	e, err := in.commit(s)
	if err != nil {
		return Upload{}, fault.Wrap(op, err)
	}
	in.tell(e)
	in.mu.Lock()
	defer in.mu.Unlock()
	e.ready = true
	in.ring()
	return e.Upload, nil
}

// begin enters what is being sent.
func (in *Inbox) begin(space, key string) (*sending, error) {
	const op = "inbox.begin"
	in.mu.Lock()
	if in.closed {
		in.mu.Unlock()
		return nil, errClosed(op)
	}
	old := in.prune()
	s := &sending{Inbox: in, space: space, key: key, id: newID(), done: make(chan struct{})}
	var err error
	switch {
	case key == "":
	case slices.ContainsFunc(in.sendings(), func(o *sending) bool { return o.space == space && o.key == key }):
		err = fault.New(fault.Conflict, op, "an upload with this key is still being sent")
	default:
		s.known = in.keys[named{space, key}]
	}
	if err == nil && s.known == nil && len(in.queue) >= in.o.MaxQueued {
		err = fault.New(fault.Overloaded, op, "%d uploads wait to be taken in, and no more can", len(in.queue))
	}
	if err == nil {
		in.sending[s] = struct{}{}
		in.sent.Add(1)
	}
	in.mu.Unlock()
	in.discard(old...)
	return s, err
}

// sendings are the uploads that are being sent. The caller holds mu.
func (in *Inbox) sendings() (all []*sending) {
	for s := range in.sending {
		all = append(all, s)
	}
	return all
}

// finish strikes out what was sent, and removes it unless it was accepted.
func (in *Inbox) finish(s *sending) {
	if s.file != nil {
		s.file.Close() // an error: the file goes
	}
	if !s.accepted {
		in.discard(s.id+recordEnd, s.id+spoolEnd)
	}
	in.mu.Lock()
	delete(in.sending, s)
	if !s.accepted {
		in.bytes -= s.spooled
	}
	in.mu.Unlock()
	close(s.done)
	in.sent.Done()
}

// same gives the upload that was sent before under the key, if it is this one.
func (in *Inbox) same(s *sending) (Upload, error) {
	const op = "inbox.same"
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.uploads[s.known.ID] != s.known:
		return Upload{}, fault.New(fault.Conflict, op, "the upload with this key was forgotten while it was sent again")
	case s.known.digest != digestOf(s.files):
		return Upload{}, fault.New(fault.Conflict, op, "another upload was sent under this key")
	}
	return s.known.Upload, nil
}

// commit makes an upload durable, and then known.
func (in *Inbox) commit(s *sending) (*entry, error) {
	const op = "inbox.commit"
	file := s.file
	s.file = nil
	if err := in.disk.shut(file); err != nil {
		return nil, unavailable(op, err)
	}
	in.mu.Lock()
	in.seq++
	e := &entry{
		Upload: Upload{ID: s.id, Space: s.space, Key: s.key, State: Queued, Accepted: in.o.Now().UTC().Round(0), Files: len(s.files), Bytes: s.spooled},
		seq:    in.seq, digest: digestOf(s.files), over: make(chan struct{}), sound: true,
	}
	err := s.refused
	s.committing = err == nil
	in.mu.Unlock()
	if err != nil {
		return nil, err
	}
	r := e.record()
	r.Files = s.files
	b, err := seal("upload", r)
	if err != nil {
		return nil, fault.New(fault.Internal, op, "%w", err)
	}
	if len(b) > maxRecord {
		return nil, fault.New(fault.Invalid, op, "the names of the files are too many or too long: send fewer files at once")
	}
	if err := in.disk.replace(s.id+recordEnd, b); err != nil {
		return nil, unavailable(op, err)
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if s.refused != nil {
		return nil, s.refused
	}
	s.accepted = true
	in.insert(e)
	return e, nil
}

// record is the upload as it is written down, but for its files.
func (e *entry) record() *record {
	return &record{
		ID: e.ID, Seq: e.seq, Space: e.Space, Key: e.Key, State: e.State, Accepted: e.Accepted, Ended: e.Ended,
		Digest: e.digest, Count: e.Files, Bytes: e.Bytes, Report: e.Report, Error: e.Error,
	}
}

func newID() string {
	b := make([]byte, 16)
	rand.Read(b)
	return hex.EncodeToString(b)
}
