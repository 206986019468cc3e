package inbox

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"io"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// Take reads one file to its end. Name is for people and for the reader, which
// names documents after it. A body that implements unparsed is parsed first.
type Take = func(name string, body io.Reader) error

// sending is an upload that is being sent.
type sending struct {
	*Inbox
	space, key, id string
	known          *entry // the upload that was sent under the key before
	file           *written
	files          []file
	spooled        int64 // bytes on disk
	deletedToo     bool  // see AcceptAgain
	accepted       bool
	refused        error // why it cannot be accepted any more; guarded by mu
}

// refuse makes an upload fail while it is sent. The caller holds mu.
func (s *sending) refuse(why error) {
	if s.refused == nil {
		s.refused = why
	}
}

// Accept stores what is sent: each calls take with one file after the other. When
// it returns without an error, the upload is durable. After an error of each or of
// take, or the end of ctx, nothing of it remains.
//
// A key, if there is one, names the upload. Sent again with the same content,
// Accept returns that upload. Another content, or a second sender before the first
// is done, is a Conflict.
func (in *Inbox) Accept(ctx context.Context, space, key string, each func(take Take) error) (Upload, error) {
	return in.accept(ctx, space, key, false, each)
}

// AcceptAgain is Accept. The upload also adds documents that the user deleted before.
func (in *Inbox) AcceptAgain(ctx context.Context, space, key string, each func(take Take) error) (Upload, error) {
	return in.accept(ctx, space, key, true, each)
}

func (in *Inbox) accept(ctx context.Context, space, key string, deletedToo bool, each func(take Take) error) (Upload, error) {
	const op = "inbox.Accept"
	if len(key) > maxKey || !printable(key) {
		return Upload{}, fault.New(fault.Invalid, op, "a key has at most %d bytes and no control characters", maxKey)
	}
	s, err := in.begin(space, key)
	if err != nil {
		return Upload{}, fault.Wrap(op, err)
	}
	defer in.finish(s)
	s.deletedToo = deletedToo
	// Behind begin: if the space is dropped now, either this sees it, or DropSpace sees s.
	if _, err := in.o.Spaces.Space(space); err != nil {
		return Upload{}, fault.Wrap(op, err)
	}
	if err := s.receive(ctx, each); err != nil {
		return Upload{}, fault.Wrap(op, err)
	}
	if s.known != nil {
		u, err := s.same()
		return u, fault.Wrap(op, err)
	}
	e, err := s.commit()
	if err != nil {
		return Upload{}, fault.Wrap(op, err)
	}
	in.notify(e)
	in.mu.Lock()
	defer in.mu.Unlock()
	e.ready = true
	in.wakeRun()
	return e.Upload, nil
}

func (in *Inbox) begin(space, key string) (*sending, error) {
	const op = "inbox.begin"
	b := make([]byte, 16)
	rand.Read(b)
	s := &sending{Inbox: in, space: space, key: key, id: hex.EncodeToString(b)}
	in.mu.Lock()
	if in.closed {
		in.mu.Unlock()
		return nil, errClosed(op)
	}
	old := in.prune()
	var err error
	if key != "" {
		for _, e := range in.uploads {
			if e.Space == space && e.Key == key && (s.known == nil || s.known.seq < e.seq) {
				s.known = e
			}
		}
		for other := range in.sending {
			if other.space == space && other.key == key {
				err = fault.New(fault.Conflict, op, "an upload with this key is still being sent")
			}
		}
	}
	if err == nil && s.known == nil && len(in.queue) >= in.o.MaxQueued {
		err = fault.New(fault.Overloaded, op, "%d uploads are waiting, which is the limit: try again later", len(in.queue))
	}
	if err == nil {
		in.sending[s] = struct{}{}
		in.sent.Add(1)
	}
	in.mu.Unlock()
	in.discard(old)
	return s, err
}

// finish removes what was not accepted.
func (in *Inbox) finish(s *sending) {
	if s.file != nil {
		s.file.Close() //nolint:errcheck // it is removed
	}
	if !s.accepted {
		in.discard(nil, s.id+spoolEnd)
	}
	in.mu.Lock()
	delete(in.sending, s)
	if !s.accepted {
		in.bytes -= s.spooled
	}
	in.mu.Unlock()
	in.sent.Done()
}

// same returns the upload that was sent before under the key, if this is the same.
func (s *sending) same() (Upload, error) {
	const op = "inbox.same"
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.uploads[s.known.ID] != s.known:
		return Upload{}, fault.New(fault.Conflict, op, "the upload with this key was forgotten while it was sent again")
	case s.known.digest != digestOf(s.files), s.known.deletedToo != s.deletedToo:
		return Upload{}, fault.New(fault.Conflict, op, "another upload was sent under this key")
	}
	return s.known.Upload, nil
}

// commit makes the files durable, then the record.
func (s *sending) commit() (*entry, error) {
	const op = "inbox.commit"
	file := s.file
	s.file = nil
	if err := s.disk.shut(file); err != nil {
		return nil, unavailable(op, err)
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	s.seq++
	r := &record{
		ID: s.id, Seq: s.seq, Space: s.space, Key: s.key, State: Queued, Accepted: s.o.Now().UTC().Round(0),
		Digest: digestOf(s.files), Files: s.files, Count: len(s.files), Bytes: s.spooled, Again: s.deletedToo,
	}
	refused := s.refused
	s.mu.Unlock()
	if refused != nil {
		return nil, refused
	}
	c, err := put(keyOf(s.id), r)
	if err != nil {
		return nil, fault.New(fault.Internal, op, "%w", err)
	}
	if len(c.value) > maxRecord {
		return nil, fault.New(fault.Invalid, op, "the names of the files are too many or too long: send fewer files at once")
	}
	if err := s.store.write(c); err != nil {
		s.discard([]change{{key: c.key}})
		return nil, unavailable(op, err)
	}
	e := newEntry(r)
	e.verified, s.accepted = true, true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.insert(e)
	return e, nil
}

// receive writes all files into the spool file.
func (s *sending) receive(ctx context.Context, each func(take Take) error) error {
	if s.known == nil {
		f, err := s.disk.create(s.id + spoolEnd)
		if err != nil {
			return unavailable("inbox.receive", err)
		}
		s.file = f
	}
	var failed error // the first, whatever each makes of it
	err := each(func(name string, body io.Reader) error {
		if failed == nil {
			failed = s.one(ctx, name, body)
		}
		return failed
	})
	switch {
	case err == nil && failed != nil, fault.KindOf(failed) == fault.Unavailable, fault.KindOf(failed) == fault.Overloaded:
		return failed
	case err != nil:
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	case len(s.files) == 0:
		return fault.New(fault.Invalid, "inbox.receive", "the upload contains no files")
	}
	return nil
}

// one appends a file to the spool file.
func (s *sending) one(ctx context.Context, name string, body io.Reader) error {
	const op = "inbox.take"
	switch {
	case !validName(name):
		return fault.New(fault.Invalid, op, "a file name has 1 to %d bytes of UTF-8 and no control characters", maxName)
	case len(s.files) >= s.o.MaxFiles:
		return fault.New(fault.Invalid, op, "an upload has at most %d files", s.o.MaxFiles)
	}
	kept := file{Name: name}
	h := sha256.New()
	keep := func(b []byte) error {
		h.Write(b)
		kept.Size += int64(len(b))
		return s.append(s.file, b)
	}
	var err error
	if u, ok := body.(unparsed); ok {
		err = s.parse(ctx, u, keep)
	} else {
		err = eachPiece(ctx, body, keep)
	}
	if err != nil {
		return err
	}
	kept.Sum = hex.EncodeToString(h.Sum(nil))
	s.files = append(s.files, kept)
	return nil
}

// eachPiece calls fn with what a body contains. It returns errors of the body as
// they are.
func eachPiece(ctx context.Context, body io.Reader, fn func([]byte) error) error {
	buf := make([]byte, 64<<10)
	for idle := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := body.Read(buf)
		if n > 0 {
			idle = 0
			if err := fn(buf[:n]); err != nil {
				return err
			}
		} else if idle++; idle == 100 && err == nil {
			err = io.ErrNoProgress
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// append writes to a file if there is room. Without a file it only checks whether
// the upload was refused.
func (s *sending) append(to *written, b []byte) error {
	const op = "inbox.append"
	n := int64(len(b))
	s.mu.Lock()
	err := s.refused
	switch {
	case err != nil || to == nil:
	case s.bytes+n > s.o.MaxBytes:
		err = fault.New(fault.Overloaded, op, "waiting uploads leave no room for this one (%d of %d bytes): try again later", s.bytes, s.o.MaxBytes)
	default:
		s.bytes += n
		s.spooled += n
	}
	s.mu.Unlock()
	if err != nil || to == nil {
		return err
	}
	if err := durable.Room(s.disk.dir, n, s.o.MinFree); err != nil {
		return fault.New(fault.Unavailable, op, "%w", err)
	}
	if err := s.disk.write(to, b); err != nil {
		return unavailable(op, err)
	}
	return nil
}
