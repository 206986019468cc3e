package selftest

import (
	"crypto/rand"
	"errors"
	"math"
	"os"
	"slices"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/qkvtree"
)

// Disk holds the slices of one prompt in a database of its own.
type Disk struct {
	dir  string
	db   *kv.DB
	tree *qkvtree.Tree
	req  qkvtree.Request
}

// ToDisk writes slices to a new database in a temporary folder, and opens it
// once more, so that all is read from files.
func ToDisk(model string, pl percached.Placement, slices []*percached.Slice) (*Disk, error) {
	dir, err := os.MkdirTemp("", "percached-")
	if err != nil {
		return nil, fault.New(fault.Unavailable, "percached: disk", "%w", err)
	}
	d := &Disk{dir: dir, req: qkvtree.Request{Space: "bench", Model: model, Placement: pl}}
	for i, s := range slices {
		n := qkvtree.Node{Tokens: s.Tokens}
		if i > 0 {
			n.Chunk = percached.NewChunkID(s.Path.String())
		}
		d.req.Segments = append(d.req.Segments, n)
	}
	key := make([]byte, 32)
	rand.Read(key)
	if err := d.write(key, slices); err != nil {
		d.Close()
		return nil, err
	}
	return d, nil
}

func (d *Disk) write(key []byte, slices []*percached.Slice) error {
	if err := d.open(key); err != nil {
		return err
	}
	if err := d.tree.Insert(d.req, slices); err != nil {
		return err
	}
	if err := errors.Join(d.tree.Close(), d.db.Close()); err != nil {
		return err
	}
	return d.open(key)
}

func (d *Disk) open(key []byte) (err error) {
	if d.db, err = kv.Open(d.dir, kv.Default()); err != nil {
		return err
	}
	o := qkvtree.Default()
	o.Key, o.Limit = key, math.MaxInt64
	d.tree, err = qkvtree.Open(d.db, o)
	return err
}

// View lends the slices as they lie on disk.
func (d *Disk) View(fn func([]*percached.Slice) error) error {
	return d.tree.View(d.req, func(lent []*percached.Slice, _ qkvtree.Match) error {
		if slices.Contains(lent, nil) {
			return fault.New(fault.Internal, "percached: disk", "a slice that was stored is not there")
		}
		return fn(lent)
	})
}

func (d *Disk) Close() {
	if d.tree != nil {
		d.tree.Close()
	}
	if d.db != nil {
		d.db.Close()
	}
	os.RemoveAll(d.dir)
}
