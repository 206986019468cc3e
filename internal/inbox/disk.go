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
	recordEnd = ".upload"
	spoolEnd  = ".spool"
	partEnd   = ".part"
	bodyEnd   = ".body" // of a body that is to be parsed, before partEnd

	withheldName = "withheld"
	damagedName  = "damaged"

	maxRecord = 64 << 20 // bytes
)

// disk is the inbox's folder.
type disk struct {
	dir string
	// step is asked before each step that changes the folder; nil but in tests.
	step func(what, name string) error
}

func (d *disk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *disk) at(what, name string) error {
	if d.step == nil {
		return nil
	}
	return d.step(what, name)
}

// create makes a file that is not there yet.
func (d *disk) create(name string) (*os.File, error) {
	if err := d.at("create", name); err != nil {
		return nil, err
	}
	return os.OpenFile(d.path(name), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
}

func (d *disk) write(f *os.File, b []byte) error {
	if err := d.at("write", filepath.Base(f.Name())); err != nil {
		return err
	}
	_, err := f.Write(b)
	return err
}

// shut makes a file durable, as far as it holds something, and closes it.
func (d *disk) shut(f *os.File) error {
	err := d.at("sync", filepath.Base(f.Name()))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// replace puts a file there whole or not at all. When it returns, it is durable.
func (d *disk) replace(name string, b []byte) error {
	part := name + partEnd
	if err := d.remove(part); err != nil {
		return err
	}
	f, err := d.create(part)
	if err != nil {
		return err
	}
	if err := errors.Join(d.write(f, b), d.shut(f)); err != nil {
		return errors.Join(err, d.remove(part))
	}
	if err = d.at("rename", name); err == nil {
		err = os.Rename(d.path(part), d.path(name))
	}
	if err != nil {
		return errors.Join(err, d.remove(part))
	}
	return d.sync()
}

// remove removes a file, if it is there.
func (d *disk) remove(name string) error {
	if _, err := os.Lstat(d.path(name)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := d.at("remove", name); err != nil {
		return err
	}
	if err := os.Remove(d.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sync makes names durable that came, went or changed.
func (d *disk) sync() error {
	if err := d.at("sync", "."); err != nil {
		return err
	}
	return durable.Folder(d.dir)
}

// read reads a record.
func (d *disk) read(name string) ([]byte, error) {
	info, err := os.Stat(d.path(name))
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRecord {
		return nil, errDamaged
	}
	return os.ReadFile(d.path(name))
}

// setAside puts what cannot be read where it is in nobody's way.
func (d *disk) setAside(names ...string) error {
	if err := os.MkdirAll(d.path(damagedName), 0o700); err != nil {
		return err
	}
	for _, name := range names {
		if err := d.at("set aside", name); err != nil {
			return err
		}
		if err := os.Rename(d.path(name), d.path(filepath.Join(damagedName, name))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return d.sync()
}

// unavailable is a fault of the disk, without the names of files on it.
func unavailable(op string, err error) error {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		err = l.Err
	}
	return fault.New(fault.Unavailable, op, "the inbox cannot be written: %w", err)
}
