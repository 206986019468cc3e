package main

import (
	"crypto/rand"
	"os"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/fault"
	"github.com/percached/percached/internal/kv"
	"github.com/percached/percached/qkvtree"
)

// disk holds the slices of one prompt in a database of its own.
type disk struct {
	dir       string
	db        *kv.DB
	store     *qkvtree.Store
	model     string
	placement percached.Placement
	paths     []percached.Path
}

const benchSpace = "bench"

// toDisk writes slices to a new database in a temporary folder, and opens it
// once more, so that all is read from files.
func toDisk(model string, pl percached.Placement, slices []*percached.Slice) (*disk, error) {
	dir, err := os.MkdirTemp("", "percached-")
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: disk", "%w", err)
	}
	d := &disk{dir: dir, model: model, placement: pl}
	key := make([]byte, 32)
	rand.Read(key)
	if err := d.write(key, slices); err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

func (d *disk) write(key []byte, slices []*percached.Slice) error {
	if err := d.open(key); err != nil {
		return err
	}
	for _, s := range slices {
		if err := d.store.Put(benchSpace, d.placement, s); err != nil {
			return err
		}
		d.paths = append(d.paths, s.Path)
	}
	if err := d.db.Close(); err != nil {
		return err
	}
	return d.open(key)
}

func (d *disk) open(key []byte) (err error) {
	if d.db, err = kv.Open(d.dir, kv.Default()); err != nil {
		return err
	}
	d.store, err = qkvtree.New(d.db, qkvtree.Options{Key: key})
	return err
}

// view lends the slices as they lie on disk.
func (d *disk) view(fn func([]*percached.Slice) error) error {
	return d.store.View(benchSpace, d.placement, d.model, d.paths, fn)
}

func (d *disk) close() {
	if d.db != nil {
		d.db.Close()
	}
	os.RemoveAll(d.dir)
}
