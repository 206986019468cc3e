package inbox

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

const (
	spoolEnd = ".spool"
	partEnd  = ".part"
	bodyEnd  = ".body" + partEnd // a request body before it is parsed
)

// disk is the folder of the spool files.
type disk struct {
	dir string
	// step is called before each change of the folder; nil but in tests.
	step func(what, name string) error
}

func (d *disk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *disk) before(what, name string) error {
	if d.step == nil {
		return nil
	}
	return d.step(what, name)
}

func (d *disk) create(name string) (*os.File, error) {
	if err := d.before("create", name); err != nil {
		return nil, err
	}
	return os.OpenFile(d.path(name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
}

func (d *disk) write(f *os.File, b []byte) error {
	if err := d.before("write", filepath.Base(f.Name())); err != nil {
		return err
	}
	_, err := f.Write(b)
	return err
}

// shut makes a file and its name durable, and closes it.
func (d *disk) shut(f *os.File) error {
	err := d.before("sync", filepath.Base(f.Name()))
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return d.sync()
}

// remove removes files that exist.
func (d *disk) remove(names ...string) error {
	var errs []error
	for _, name := range names {
		if _, err := os.Lstat(d.path(name)); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		err := d.before("remove", name)
		if err == nil {
			err = os.Remove(d.path(name))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// sync makes names durable.
func (d *disk) sync() error {
	if err := d.before("sync", "."); err != nil {
		return err
	}
	return durable.Folder(d.dir)
}

// unavailable is an error of the disk without the names of files.
func unavailable(op string, err error) error {
	return fault.New(fault.Unavailable, op, "cannot use the inbox: %w", bare(err))
}

// bare removes file names from an error.
func bare(err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		return l.Err
	}
	return err
}
