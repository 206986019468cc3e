package ingest

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/knowledgebank"
)

// In an export of the documents alone, a document is one record or more, by ascending key:
//
//	key: 'X' 'd', first 16 bytes of SHA-256 of the space's name, document (16 bytes), part (4 bytes, big-endian)
//	value: format version (1), copiedPart in JSON
//
// So no reader takes it for the export of a space.
const (
	copyKind    = "Xd"
	copyVersion = 1
	// partChunks is how many chunks a part has at most, so that it fits into a record.
	partChunks = 1000
)

// factFormat is the format of documents that are facts about a user. Copies do not have them.
const factFormat = "memory"

func isCopied(d percached.Document) bool { return d.Format != factFormat }

// copiedPart is a part of a document.
type copiedPart struct {
	Document *copiedDocument `json:"document,omitempty"` // in the first part only
	Chunks   []copiedChunk   `json:"chunks"`
	Last     bool            `json:"last,omitempty"`
}

type copiedDocument struct {
	Key    string      `json:"key"`
	Title  string      `json:"title"`
	Source string      `json:"source"`
	Format string      `json:"format"`
	Path   string      `json:"path,omitempty"`
	Date   *copiedTime `json:"date,omitempty"`
	Added  *copiedTime `json:"added,omitempty"`
	Words  int         `json:"words"`
}

// copiedTime keeps the seconds of an offset, which the time of JSON does not.
type copiedTime struct {
	Seconds     int64 `json:"seconds"` // since 1970
	Nanoseconds int64 `json:"nanoseconds,omitempty"`
	East        int   `json:"east,omitempty"` // seconds that its zone is east of UTC
}

func copyTime(t time.Time) *copiedTime {
	if t.IsZero() {
		return nil
	}
	_, east := t.Zone()
	return &copiedTime{t.Unix(), int64(t.Nanosecond()), east}
}

func (c *copiedTime) time() time.Time {
	switch {
	case c == nil:
		return time.Time{}
	case c.East == 0:
		return time.Unix(c.Seconds, c.Nanoseconds).UTC()
	}
	return time.Unix(c.Seconds, c.Nanoseconds).In(time.FixedZone("", c.East))
}

type copiedChunk struct {
	Head string `json:"head"`
	Body string `json:"body"`
}

// DocumentsDigest identifies the documents of a space: it is equal on two nodes exactly if both
// have the same.
func (l *Library) DocumentsDigest(ctx context.Context, space string) (string, error) {
	digest, err := l.Knowledge.Digest(ctx, space, isCopied)
	return digest, fault.Wrap("ingest.DocumentsDigest", err)
}

// ExportDocuments calls fn with the documents of a space as records, by ascending key. Facts about
// the user are left out.
func (l *Library) ExportDocuments(ctx context.Context, space string, fn func(key, value []byte) error) error {
	id := kv.NewSpaceID(space)
	return fault.Wrap("ingest.ExportDocuments", l.Knowledge.EachCopy(ctx, space, isCopied, func(c knowledgebank.Copy) error {
		d, from := c.Document, spaceKey(copyKind, id)
		part := copiedPart{Document: &copiedDocument{d.Key, d.Title, d.Source, d.Format, d.Path, copyTime(d.Date), copyTime(d.Added), d.Words}}
		for n := uint32(0); !part.Last; n++ {
			some := c.Chunks[:min(partChunks, len(c.Chunks))]
			c.Chunks = c.Chunks[len(some):]
			for _, chunk := range some {
				part.Chunks = append(part.Chunks, copiedChunk{chunk.Head, chunk.Body})
			}
			part.Last = len(c.Chunks) == 0
			b, err := json.Marshal(part)
			if err != nil {
				return err
			}
			key := binary.BigEndian.AppendUint32(append(slices.Clone(from), d.ID[:]...), n)
			if err := fn(key, append([]byte{copyVersion}, b...)); err != nil {
				return err
			}
			part = copiedPart{Last: part.Last}
		}
		return nil
	}))
}

// CopyUpdate makes the documents of a space those of an export of documents. Each document is
// replaced as a whole. After an error or a crash some are as before; the next update goes on.
type CopyUpdate struct {
	l       *Library
	space   string
	allowed func() error // asked before each change
	batch   []knowledgebank.Copy
	bytes   int
	part    *knowledgebank.Copy // that has more parts
	seen    map[percached.DocumentID]bool
}

// BeginCopyUpdate begins an update. It ends with Commit; there is nothing to undo.
func (l *Library) BeginCopyUpdate(space string, allowed func() error) *CopyUpdate {
	return &CopyUpdate{l: l, space: space, allowed: allowed, seen: map[percached.DocumentID]bool{}}
}

// Set reads a record of the export. Complete documents are stored soon.
func (u *CopyUpdate) Set(ctx context.Context, key, value []byte) error {
	const op = "ingest.CopyUpdate.Set"
	var part copiedPart
	switch {
	case !strings.HasPrefix(string(key), string(spaceKey(copyKind, kv.NewSpaceID(u.space)))):
		return fault.New(fault.Invalid, op, "this is not an export of the documents of this space")
	case len(value) > 0 && value[0] > copyVersion:
		return fault.New(fault.Unsupported, op, "a newer percached made this export; upgrade percached")
	case len(value) == 0 || json.Unmarshal(value[1:], &part) != nil || (part.Document == nil) != (u.part != nil):
		return fault.New(fault.Invalid, op, "a document of the export cannot be read")
	}
	if d := part.Document; d != nil {
		u.part = &knowledgebank.Copy{Document: percached.Document{
			Key: d.Key, Title: d.Title, Source: d.Source, Format: d.Format, Path: d.Path, Date: d.Date.time(), Added: d.Added.time(), Words: d.Words,
		}}
	}
	for _, c := range part.Chunks {
		u.part.Chunks = append(u.part.Chunks, percached.Chunk{Head: c.Head, Body: c.Body})
	}
	u.bytes += len(value)
	if !part.Last {
		return nil
	}
	u.seen[percached.NewDocumentID(u.part.Document.Key)] = true
	u.batch, u.part = append(u.batch, *u.part), nil
	if len(u.batch) < batchDocuments && u.bytes < batchBytes {
		return nil
	}
	return fault.Wrap(op, u.flush(ctx))
}

// Commit stores what is left and deletes the documents that the export does not have, with
// everything made from them. Call it only after the whole export was verified.
func (u *CopyUpdate) Commit(ctx context.Context) error {
	const op = "ingest.CopyUpdate.Commit"
	if u.part != nil {
		return fault.New(fault.Invalid, op, "the export ends within a document")
	}
	if err := u.flush(ctx); err != nil {
		return fault.Wrap(op, err)
	}
	var gone []percached.DocumentID
	var after percached.DocumentID
	for {
		page, err := u.l.Knowledge.Documents(u.space, after, batchDocuments)
		if err != nil { // also of a damaged document, which may have to go
			return fault.Wrap(op, err)
		}
		for _, d := range page {
			if after = d.ID; isCopied(d) && !u.seen[d.ID] {
				gone = append(gone, d.ID)
			}
		}
		if len(page) < batchDocuments {
			break
		}
	}
	for _, id := range gone {
		err := u.allowed()
		if err == nil {
			_, err = u.l.Delete(ctx, u.space, id)
		}
		if err != nil && fault.KindOf(err) != fault.NotFound {
			return fault.Wrap(op, err)
		}
	}
	return nil
}

// flush stores the batch.
func (u *CopyUpdate) flush(ctx context.Context) error {
	if len(u.batch) == 0 {
		return nil
	}
	l := u.l
	done, err := l.turns.space(ctx, u.space)
	if err != nil {
		return err
	}
	defer done()
	if err := u.allowed(); err != nil {
		return err
	}
	replaced, err := u.noteReplaced()
	if err != nil {
		return err
	}
	changes, err := l.Knowledge.AddCopies(ctx, u.space, u.batch)
	u.batch, u.bytes = nil, 0
	if len(changes) > 0 { // these are stored, whatever happened to the rest
		err = errors.Join(err, l.catchUp(ctx, u.space, nil))
	}
	if replaced {
		defer l.signalDeletion()
		err = errors.Join(err, u.forget(ctx, changes))
	}
	return err
}

// noteReplaced notes the chunks of the documents that the batch replaces. The writer may have
// deleted a document and added another one under its key: so a replaced text is forgotten like a
// deleted one, also if this node crashes before that is done.
func (u *CopyUpdate) noteReplaced() (any bool, err error) {
	var coming []*knowledgebank.Source
	for _, c := range u.batch {
		coming = append(coming, &knowledgebank.Source{Key: c.Document.Key})
	}
	if err := u.l.keepIncoming(u.space, coming); err != nil {
		return false, err
	}
	for _, c := range u.batch {
		id := percached.NewDocumentID(c.Document.Key)
		was, err := u.l.Knowledge.Document(u.space, id)
		if fault.KindOf(err) == fault.NotFound {
			continue
		}
		if err == nil && slices.EqualFunc(was.Chunks, c.Chunks, func(id percached.ChunkID, c percached.Chunk) bool {
			return id == percached.NewChunkID(c.Rendered())
		}) {
			continue
		}
		any = true
		if err := u.l.note(&pending{Space: u.space, Document: id, Chunks: was.Chunks, Gone: true}); err != nil {
			return any, err
		}
	}
	return any, nil
}

// forget forgets what depends on the chunks that were replaced.
func (u *CopyUpdate) forget(ctx context.Context, changes []knowledgebank.Change) error {
	p := &pending{Space: u.space}
	for _, c := range changes {
		p.Chunks = append(p.Chunks, c.Gone...)
	}
	if len(p.Chunks) == 0 {
		return nil
	}
	// The documents are stored: the caller may cancel.
	_, err := u.l.forget(context.WithoutCancel(ctx), p)
	if late := u.l.Jobs.Forget(u.space); err == nil {
		err = late
	}
	return err
}
