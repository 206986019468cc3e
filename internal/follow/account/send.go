package account

import (
	"context"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"

	"github.com/emersion/go-imap/v2"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/follow"
)

const (
	// Mails are fetched and sent in portions, so that finished portions stay.
	portionMails = 500
	portionBytes = 32 << 20
	// headBytes is where the Message-ID of a mail is looked for.
	headBytes = 1 << 20
)

// sendFolder fetches mails of a folder and sends them.
func (r *run) sendFolder(ctx context.Context, name string, mails []heading) error {
	if len(mails) == 0 {
		return nil
	}
	if ok, err := r.reopen(name); !ok {
		return err
	}
	var portion []heading
	bytes := int64(0)
	for i, h := range mails {
		if r.take(name, h, r.keyOf(ctx, h.header)) { // it came with another folder
			r.passed(h.size)
		} else {
			portion = append(portion, h)
			bytes += h.size
		}
		if last := i == len(mails)-1; last || len(portion) == portionMails || bytes+mails[i+1].size > portionBytes {
			if err := r.sendPortion(ctx, name, portion); err != nil {
				return err
			}
			portion, bytes = nil, 0
		}
	}
	return nil
}

// passed counts a mail that need not be sent.
func (r *run) passed(size int64) {
	if r.Observer.Passed != nil {
		r.Observer.Passed(size)
	}
}

// received is a mail in a file.
type received struct {
	mail
	uid  imap.UID
	file follow.File
	err  error // why no document was found in it
}

// sendPortion fetches mails of the open folder and sends them. If the connection is lost it
// sends those that came before.
func (r *run) sendPortion(ctx context.Context, name string, portion []heading) error {
	if len(portion) == 0 {
		return nil
	}
	dir := r.State.path + mailsEnding
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.New(fault.Unavailable, "account.send", "%w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the next run removes it
	var uids []imap.UID
	sizes := map[imap.UID]int64{}
	for _, h := range portion {
		uids = append(uids, h.uid)
		sizes[h.uid] = h.size
	}
	var came []*received
	cut := r.account.bodies(uids, func(uid imap.UID, in io.Reader) error {
		path := filepath.Join(dir, strconv.FormatUint(uint64(uid), 10))
		file := follow.File{Path: path, Name: r.path(name, uid), Open: func() (io.ReadCloser, error) { return r.State.files.Open(path) }}
		whole, err := r.State.write(&file, in)
		if err == nil && whole {
			came = append(came, &received{mail: mail{Size: sizes[uid]}, uid: uid, file: file})
		}
		return err
	}, func(uid imap.UID, err error) {
		r.report.Blocked = append(r.report.Blocked, follow.Obstacle{Path: r.path(name, uid), Err: err})
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := r.store(ctx, name, came); err != nil {
		return err
	}
	return cut
}

// write writes a mail to its file. It returns false if the connection was lost.
func (s *State) write(file *follow.File, in io.Reader) (whole bool, err error) {
	f, err := s.files.Create(file.Path)
	if err != nil {
		return false, fault.New(fault.Unavailable, "account.write", "%w", err)
	}
	source := &failing{in: in}
	file.Size, err = io.Copy(f, source)
	if shut := f.Close(); err == nil {
		err = shut
	}
	switch {
	case source.err != nil:
		return false, nil
	case err != nil:
		return false, fault.New(fault.Unavailable, "account.write", "%w", err)
	}
	return true, nil
}

// failing remembers the error of a reader.
type failing struct {
	in  io.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.in.Read(p)
	if err != nil && err != io.EOF {
		f.err = err
	}
	return n, err
}

// store sends mails, and keeps what is known of them when they are stored.
func (r *run) store(ctx context.Context, name string, mails []*received) error {
	var files []follow.File
	for _, m := range mails {
		if m.Documents, m.err = r.documentsOf(ctx, m.file); len(m.Documents) > 0 {
			files = append(files, m.file)
		}
	}
	var unsent map[string]error
	if len(files) > 0 {
		var err error
		if unsent, err = r.Space.Add(ctx, files); err != nil {
			return err
		}
	}
	f := r.State.folder(name)
	for _, m := range mails {
		if _, failed := unsent[m.file.Name]; failed {
			continue
		}
		kept := m.mail
		f.Mails[m.uid] = &kept
		r.State.dirty = true
		if len(m.Documents) == 0 {
			if m.err != nil {
				r.report.Unread = append(r.report.Unread, follow.Obstacle{Path: m.file.Name, Err: m.err})
			}
			r.passed(m.Size)
			continue
		}
		r.learn(&kept)
		r.fresh = append(r.fresh, &kept)
		r.changed(follow.Change{What: follow.Added, Path: m.file.Name})
	}
	if now := r.Now(); now.Sub(r.saved) >= saveEvery {
		r.saved = now
		return r.State.save()
	}
	return nil
}

// documentsOf returns the documents that a mail becomes. The error says why there is none.
func (r *run) documentsOf(ctx context.Context, file follow.File) (ids []percached.DocumentID, unread error) {
	for _, most := range []int64{headBytes, math.MaxInt64} {
		f, err := file.Open()
		if err != nil {
			return nil, err
		}
		ids = nil
		enough := false
		unread = r.keys.Keys(ctx, file.Name, io.LimitReader(f, most), func(key string) {
			ids = append(ids, percached.NewDocumentID(key))
			enough = named(key)
		})
		f.Close() //nolint:errcheck // nothing was written
		if len(ids) == 1 && (enough || file.Size <= headBytes) {
			return ids, nil
		}
	}
	return ids, unread
}
