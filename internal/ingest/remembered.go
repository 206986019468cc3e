package ingest

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/knowledgebank"
)

// On disk, the memory of a document that the user deleted is a key and a value:
//
//	key: 'F' 'd', first 16 bytes of SHA-256 of the space's name, mark of the document (16 bytes)
//	value: format version (2), mark of the key (4 bytes), time of the deletion
//	(seconds since 1970, 8 bytes, big-endian), mark of the content (16 bytes; zeros: any)
//
// A mark is the beginning of HMAC-SHA256 under a key that is made of the folder's key and the
// space. So the memory contains no word of the document, and without the key nobody can find
// out which document it names. It is deleted with its space, and when the document is added
// again. A space that was imported brings the key of its marks along (markkey.go). In version
// 1 the key is the folder's own, and the mark of the document covers the space's name: such a
// memory cannot be exported.
const (
	rememberedVersion = 2
	rememberedFormer  = 1
	rememberedSize    = 1 + 4 + 8 + 16
)

// remembered is the memory of a deleted document.
type remembered struct {
	when    time.Time
	content [16]byte
	key     []byte // of its marks
	own     bool   // it was written under this key
}

func mark(key []byte, of string, parts ...[]byte) [16]byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(of))
	for _, p := range parts {
		h.Write(p)
	}
	return [16]byte(h.Sum(nil))
}

// rememberedIn is the prefix of all keys of a space.
func rememberedIn(space string) []byte { return spaceKey("Fd", kv.NewSpaceID(space)) }

func (l *Library) rememberedKey(space string, id percached.DocumentID) []byte {
	m := mark(l.markKey(kv.NewSpaceID(space)), "document", id[:])
	return append(rememberedIn(space), m[:]...)
}

// rememberedFormerKey is the key of a memory of version 1.
func (l *Library) rememberedFormerKey(space string, id percached.DocumentID) []byte {
	m := mark(l.Key, "document", []byte(space), []byte{0}, id[:])
	return append(rememberedIn(space), m[:]...)
}

// contentMark is the mark of a document with this content.
func contentMark(key []byte, id percached.DocumentID, sum knowledgebank.ContentSum) [16]byte {
	return mark(key, "content", id[:], sum[:])
}

// remember makes the memory of a stored document. If its record or its text is damaged, any
// text under its name counts as the deleted one.
func (l *Library) remember(space string, d percached.Document) (value []byte, err error) {
	var content [16]byte
	key := l.markKey(kv.NewSpaceID(space))
	chunks, err := l.Knowledge.Chunks(space, d.Chunks)
	switch {
	case err == nil && len(chunks) == len(d.Chunks) && len(chunks) > 0: // without chunks the record is damaged
		content = contentMark(key, d.ID, knowledgebank.SumContent(chunks))
	case err != nil && fault.KindOf(err) != fault.Internal:
		return nil, err
	}
	own := mark(key, "folder")
	value = append([]byte{rememberedVersion}, own[:4]...)
	value = binary.BigEndian.AppendUint64(value, uint64(l.Now().Unix()))
	return append(value, content[:]...), nil
}

// readRemembered reads a memory of a space.
func (l *Library) readRemembered(space kv.SpaceID, v []byte) (r remembered, err error) {
	if len(v) != rememberedSize || v[0] != rememberedVersion && v[0] != rememberedFormer {
		return r, fault.New(fault.Internal, "ingest: remembered", "the memory of a deleted document is unreadable")
	}
	if r.key = l.Key; v[0] == rememberedVersion {
		r.key = l.markKey(space)
	}
	own := mark(r.key, "folder")
	r.own = [4]byte(v[1:5]) == [4]byte(own[:4])
	r.when = time.Unix(int64(binary.BigEndian.Uint64(v[5:])), 0)
	r.content = [16]byte(v[13:])
	return r, nil
}

// leaveOutDeleted removes those documents from the batch that the user deleted, and
// reports them. What is added again, or has changed since, is no longer remembered. The
// caller has the space's turn.
func (a *adding) leaveOutDeleted(ctx context.Context) error {
	found := map[percached.DocumentID]remembered{}
	if err := a.Meta.View(func(tx *kv.Tx) error {
		for _, s := range a.batch {
			id := percached.NewDocumentID(s.Key)
			for _, key := range [][]byte{a.rememberedKey(a.space, id), a.rememberedFormerKey(a.space, id)} {
				v, err := tx.Get(key)
				if fault.KindOf(err) == fault.NotFound {
					continue
				}
				if err != nil {
					return err
				}
				if r, err := a.readRemembered(kv.NewSpaceID(a.space), v); err == nil { // an unreadable one keeps nothing out
					found[id] = r
					break
				}
			}
		}
		return nil
	}); err != nil || len(found) == 0 {
		return err
	}
	var rest []*knowledgebank.Source
	var again [][]byte
	for _, s := range a.batch {
		id := percached.NewDocumentID(s.Key)
		r, ok := found[id]
		out := false
		if ok {
			var err error
			if out, err = a.isDeleted(ctx, s, id, r); err != nil {
				return err
			}
		}
		switch {
		case out:
			a.reportDeleted(s, r)
			continue
		case ok:
			again = append(again, a.rememberedKey(a.space, id), a.rememberedFormerKey(a.space, id))
		}
		rest = append(rest, s)
	}
	a.batch = rest
	return a.Meta.Update(func(tx *kv.Tx) error {
		for _, k := range again {
			if err := tx.Delete(k); err != nil {
				return err
			}
		}
		return nil
	})
}

// isDeleted reports whether a source must stay out, because the user deleted it.
func (a *adding) isDeleted(ctx context.Context, s *knowledgebank.Source, id percached.DocumentID, r remembered) (bool, error) {
	if s.Again {
		return false, nil
	}
	if _, err := a.Knowledge.Document(a.space, id); fault.KindOf(err) != fault.NotFound {
		return false, nil // it exists: its deletion failed
	}
	if r.content == ([16]byte{}) {
		return true, nil
	}
	sum, err := a.Knowledge.ContentOf(ctx, s)
	if fault.KindOf(err) == fault.Invalid {
		return false, nil // adding it reports why
	}
	return err == nil && r.content == contentMark(r.key, id, sum), err
}

// reportDeleted counts a document that the user deleted, and names its file.
func (a *adding) reportDeleted(s *knowledgebank.Source, r remembered) {
	if a.report.Deleted++; len(a.report.LeftOut) < maxFailures {
		name := cmp.Or(s.Path, s.File) // not the title, which must not come back
		if name == "" || s.Format == "json" {
			name = s.Key // as the client calls it
		}
		a.report.LeftOut = append(a.report.LeftOut, Failure{name, "you deleted it on " + r.when.Local().Format(time.DateOnly)})
	}
}

// Remembered counts the deleted documents of a space that do not come back by themselves.
func (l *Library) Remembered(space string) (n int, err error) {
	err = l.Meta.View(func(tx *kv.Tx) error {
		return tx.Keys(rememberedIn(space), func([]byte, int64) error { n++; return nil })
	})
	return n, fault.Wrap("ingest.Remembered", err)
}

// forgetRemembered deletes what is remembered of a space's documents.
func (l *Library) forgetRemembered(space string) error {
	if err := l.deleteRemembered(rememberedIn(space), nil); err != nil {
		return err
	}
	return l.deleteRemembered(spaceKey("Fk", kv.NewSpaceID(space)), nil)
}

// dropForeign deletes what was remembered under the key of another folder, from which a
// backup was restored: it matches no document here.
func (l *Library) dropForeign() error {
	return l.deleteRemembered([]byte("Fd"), func(key, v []byte) bool {
		if len(key) < len("Fd")+len(kv.SpaceID{}) {
			return true
		}
		r, err := l.readRemembered(kv.SpaceID(key[len("Fd"):]), v)
		return err != nil || !r.own
	})
}

// deleteRemembered deletes the chosen records with a prefix. A nil chosen means all.
func (l *Library) deleteRemembered(prefix []byte, chosen func(key, value []byte) bool) error {
	var keys [][]byte
	err := l.Meta.View(func(tx *kv.Tx) error {
		return tx.Each(prefix, func(k, v []byte) error {
			if chosen == nil || chosen(k, v) {
				keys = append(keys, append([]byte(nil), k...))
			}
			return nil
		})
	})
	const together = 10_000 // fit into one transaction
	for len(keys) > 0 && err == nil {
		some := keys[:min(together, len(keys))]
		keys = keys[len(some):]
		err = l.Meta.Update(func(tx *kv.Tx) error {
			var errs []error
			for _, k := range some {
				errs = append(errs, tx.Delete(k))
			}
			return errors.Join(errs...)
		})
	}
	return err
}
