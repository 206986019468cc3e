package ingest

import (
	"context"
	"slices"
	"strings"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/knowledgebank"
)

// spaceRecords are the beginnings of the keys of all records that move with a space, in
// ascending order. The 16 bytes that name the space follow. The accounts of idle work (S),
// notes of deletions (Fp) and uploads (U) stay.
var spaceRecords = []string{
	"Fd", "Fk", "Hc", "Hn", "Hq", "KC", "KD", "KI", "KJ", "KM", "KP", "KS", "KT", "KV", "M",
	"Pa", "Pd", "Ph", "Pq", "Qc", "Qe", "Qg", "Qk", "Qs", "Qv", "Vc", "Vs", "Vt", "Vv",
}

// On disk, an import that has not ended is a key and a value:
//
//	key: 'F' 'i', first 16 bytes of SHA-256 of the space's name
//	value: format version (1), the space's name
//
// It is written before the first record of the space, and deleted together with the writing of
// the last one, which makes the space exist. So after a crash the space exists wholly, or
// DropImports deletes what there is of it.
const importVersion = 1

// CompleteDeletions completes failed deletions in a space. Call it before an export, which has no
// notes of them.
func (l *Library) CompleteDeletions(ctx context.Context, space string) error {
	const op = "ingest.CompleteDeletions"
	done, err := l.turns.space(ctx, space)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	notes, err := l.notes()
	for _, p := range notes {
		if err == nil && p.Space == space {
			err = l.finish(ctx, p)
		}
	}
	return fault.Wrap(op, err)
}

// ExportSpace calls fn with all records of a space in a snapshot, by ascending key.
func (l *Library) ExportSpace(meta *kv.Snapshot, space string, fn func(key, value []byte) error) error {
	id := kv.NewSpaceID(space)
	marks := false
	for _, kind := range spaceRecords {
		at := spaceKey(kind, id)
		if kind == "Fk" {
			if marks {
				if err := fn(at, l.exportedMarkKey(id)); err != nil {
					return err
				}
			}
			continue
		}
		if err := meta.Within(at, func(key, value []byte) error {
			if kind == "Fd" {
				if len(value) == 0 || value[0] != rememberedVersion {
					return nil
				}
				marks = true
			}
			return fn(key, value)
		}); err != nil {
			return err
		}
	}
	return nil
}

// Import is a space that is being imported. Nobody sees it before Commit.
type Import struct {
	l       *Library
	space   string
	id      kv.SpaceID
	pending []record // that are not written yet
	bytes   int      // of them
	made    []byte   // the record that makes the space exist
}

type record struct{ key, value []byte }

// importBytes is how much is written together. No transaction stays open while the caller waits
// for more.
const importBytes = 1 << 20

// BeginImport begins to import a space that does not exist. End it with Commit or Abort. Until
// then FinishDeletion refuses the name.
func (l *Library) BeginImport(ctx context.Context, space string) (*Import, error) {
	const op = "ingest.BeginImport"
	if err := l.FinishDeletion(ctx, space); err != nil {
		return nil, fault.Wrap(op, err)
	}
	if _, err := l.Knowledge.Space(space); fault.KindOf(err) != fault.NotFound {
		return nil, fault.New(fault.Conflict, op, "the space %q exists", space)
	}
	i := &Import{l: l, space: space, id: kv.NewSpaceID(space)}
	l.setImporting(space, true) // before the note, so that no CleanUp deletes what follows
	done, err := l.turns.space(ctx, space)
	if err == nil {
		err = l.Meta.Update(func(tx *kv.Tx) error {
			return tx.Set(spaceKey("Fi", i.id), append([]byte{importVersion}, space...))
		})
		done()
	}
	if err != nil {
		l.setImporting(space, false)
		return nil, fault.Wrap(op, err)
	}
	return i, nil
}

// isImporting reports whether an import of the space is in progress; setImporting records it.
func (l *Library) isImporting(space string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.importing[space]
}

func (l *Library) setImporting(space string, importing bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if importing {
		l.importing[space] = true
	} else {
		delete(l.importing, space)
	}
}

// Set stores a record. Neither slice may change afterwards.
func (i *Import) Set(key, value []byte) error {
	const op = "ingest.Import.Set"
	if !slices.ContainsFunc(spaceRecords, func(kind string) bool { return strings.HasPrefix(string(key), string(spaceKey(kind, i.id))) }) {
		return fault.New(fault.Invalid, op, "it contains a record that does not belong to the space")
	}
	if knowledgebank.IsSpaceRecord(i.space, key) {
		i.made = value
		return nil
	}
	if string(key) == string(spaceKey("Fk", i.id)) {
		var err error
		if value, err = i.l.importedMarkKey(i.id, value); err != nil {
			return err
		}
	}
	i.pending = append(i.pending, record{key, value})
	if i.bytes += len(key) + len(value); i.bytes < importBytes {
		return nil
	}
	return fault.Wrap(op, i.flush())
}

// flush writes the pending records.
func (i *Import) flush() error {
	bulk := i.l.Meta.Bulk()
	defer bulk.Cancel()
	for _, r := range i.pending {
		if err := bulk.Set(r.key, r.value); err != nil {
			return err
		}
	}
	i.pending, i.bytes = nil, 0
	return bulk.Flush()
}

// Commit makes the space exist with the changed settings. If it fails, call Abort.
func (i *Import) Commit(ctx context.Context, change func(*percached.Settings)) error {
	const op = "ingest.Import.Commit"
	done, err := i.l.turns.space(ctx, i.space)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	if err := i.flush(); err != nil {
		return fault.Wrap(op, err)
	}
	for _, load := range i.l.Loads {
		if err := load(i.space); err != nil {
			return fault.Wrap(op, err)
		}
	}
	if err := i.l.Knowledge.AdoptSpace(i.space, i.made, change, spaceKey("Fi", i.id)); err != nil {
		return fault.Wrap(op, err)
	}
	i.l.setImporting(i.space, false)
	// The space exists: the caller may cancel. A search catches up with what is left.
	err = i.l.Index.Update(context.WithoutCancel(ctx), i.space)
	i.l.setBehind(i.space, err != nil)
	if err != nil {
		i.l.Logger.Warn("cannot index all of an imported space; a search will", "kind", fault.KindOf(err), "error", err)
	}
	i.l.Jobs.Changed(i.space)
	return nil
}

// Abort deletes what was imported. If that fails, the next import or start does it.
func (i *Import) Abort(ctx context.Context) error {
	const op = "ingest.Import.Abort"
	ctx = context.WithoutCancel(ctx)
	defer i.l.setImporting(i.space, false)
	done, err := i.l.turns.space(ctx, i.space)
	if err != nil {
		return fault.Wrap(op, err)
	}
	defer done()
	if _, err := i.l.forgetSpace(ctx, i.space); err != nil {
		return fault.Wrap(op, err)
	}
	i.l.setUnclean(i.space)
	defer i.l.signalDeletion()
	return fault.Wrap(op, dropImport(i.l.Meta, i.id))
}

// DropImports deletes what a crash left of imports, and returns the names of their spaces.
// Call it before the layers are opened.
func DropImports(meta *kv.DB) (spaces []string, err error) {
	const op = "ingest.DropImports"
	if err := meta.View(func(tx *kv.Tx) error {
		return tx.Each([]byte("Fi"), func(_, v []byte) error {
			if len(v) < 1 || v[0] != importVersion {
				return fault.New(fault.Unsupported, op, "a newer percached left an unfinished import; use that one")
			}
			spaces = append(spaces, string(v[1:]))
			return nil
		})
	}); err != nil {
		return nil, fault.Wrap(op, err)
	}
	for _, s := range spaces {
		if err := dropImport(meta, kv.NewSpaceID(s)); err != nil {
			return spaces, fault.Wrap(op, err)
		}
	}
	return spaces, nil
}

// dropImport deletes all records of a space but its own, which may be of a deleted one. The
// next CleanUp removes the bytes.
func dropImport(meta *kv.DB, id kv.SpaceID) error {
	bulk := meta.Bulk()
	defer bulk.Cancel()
	for _, kind := range spaceRecords {
		if kind == "KS" {
			continue
		}
		if err := meta.View(func(tx *kv.Tx) error {
			return tx.Keys(spaceKey(kind, id), func(key []byte, _ int64) error { return bulk.Delete(slices.Clone(key)) })
		}); err != nil {
			return err
		}
	}
	if err := bulk.Flush(); err != nil {
		return err
	}
	return meta.Update(func(tx *kv.Tx) error {
		if err := tx.Set(cleanMarkKey(), []byte{pendingVersion}); err != nil {
			return err
		}
		return tx.Delete(spaceKey("Fi", id))
	})
}
