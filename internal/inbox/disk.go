package inbox

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/encryption"
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
	key  *encryption.Key // nil: the files are plain
}

// written is a file that is being written.
type written struct {
	*os.File
	key       *encryption.Key
	encrypted *encryption.Writer // nil: the file is plain
}

// text returns the content of a file that is complete, from its start.
func (w *written) text() (io.Reader, error) {
	if w.encrypted != nil {
		if err := w.encrypted.Close(); err != nil {
			return nil, err
		}
	}
	return contentOf(w.File, w.key)
}

// kept is a file that is read.
type kept struct {
	*io.SectionReader
	io.Closer
}

// contentOf reads an open file.
func contentOf(f *os.File, key *encryption.Key) (*io.SectionReader, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if key == nil {
		return io.NewSectionReader(f, 0, info.Size()), nil
	}
	text, err := encryption.NewFile(f, info.Size(), key)
	if err != nil {
		return nil, err
	}
	return io.NewSectionReader(text, 0, text.Size()), nil
}

func (d *disk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *disk) before(what, name string) error {
	if d.step == nil {
		return nil
	}
	return d.step(what, name)
}

func (d *disk) open(name string) (*kept, error) {
	f, err := os.Open(d.path(name))
	if err != nil {
		return nil, err
	}
	text, err := contentOf(f, d.key)
	if err != nil {
		f.Close() //nolint:errcheck // it was only read
		return nil, err
	}
	return &kept{text, f}, nil
}

// read returns the content of a short file.
func (d *disk) read(name string) ([]byte, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	return io.ReadAll(f)
}

func (d *disk) create(name string) (*written, error) {
	if err := d.before("create", name); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(d.path(name), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil || d.key == nil {
		return &written{File: f}, err
	}
	w, err := encryption.NewWriter(f, d.key)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &written{f, d.key, w}, nil
}

func (d *disk) write(f *written, b []byte) error {
	if err := d.before("write", filepath.Base(f.Name())); err != nil {
		return err
	}
	if f.encrypted != nil {
		_, err := f.encrypted.Write(b)
		return err
	}
	_, err := f.Write(b)
	return err
}

// shut makes a file and its name durable, and closes it.
func (d *disk) shut(f *written) error {
	err := d.before("sync", filepath.Base(f.Name()))
	if err == nil && f.encrypted != nil {
		err = f.encrypted.Close()
	}
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
